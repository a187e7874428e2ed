/**
 * The command line as a person runs it: real processes, real sockets, a folder of its own each.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../cli/bin.js', import.meta.url));
const WAIT_MS_MAX = 20_000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface SpawnOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'tidemark-e2e-'));
}

/** Runs a command to its end. */
export async function tidemark(args: readonly string[], options: SpawnOptions): Promise<Ended> {
  return ended(spawnTidemark(args, options), options.input);
}

/** A command whose input comes bit by bit. */
export class SlowCommand {
  readonly #child: ChildProcess;
  readonly #ended: Promise<Ended>;

  constructor(args: readonly string[], options: SpawnOptions) {
    this.#child = spawnTidemark(args, options);
    this.#ended = outputOf(this.#child);
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Signals it, and resolves when it has ended. */
  end(signal: NodeJS.Signals): Promise<Ended> {
    this.#child.kill(signal);
    return this.#ended;
  }
}

/** Runs any program to its end. */
export async function run(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): Promise<Ended> {
  const env = { ...process.env, ...options.env };
  return ended(spawn(command, args, { cwd: options.cwd, env }), options.input);
}

/** `tidemark dev` on a free port, in a folder that holds the pipeline file. */
export class Dev {
  readonly folder: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<number | null>;
  stdout = '';
  stderr = '';

  private constructor(folder: string, args: readonly string[]) {
    this.folder = folder;
    this.#child = spawnTidemark(['dev', '--port', '0', ...args], { cwd: folder });
    this.#child.stdout?.on('data', (text) => {
      this.stdout += text;
    });
    this.#child.stderr?.on('data', (text) => {
      this.stderr += text;
    });
    this.#exited = new Promise((resolve) => this.#child.once('close', resolve));
  }

  /** Resolves when it can serve; rejects with its output if it ends before. */
  static async start(folder: string, ...args: string[]): Promise<Dev> {
    const dev = new Dev(folder, args);
    await dev.prints('stdout', /AWS_ACCESS_KEY_ID/);
    return dev;
  }

  get url(): string {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(this.stdout)?.[0];
    if (url === undefined) throw new Error(`no URL in: ${this.stdout}`);
    return url;
  }

  /** Its exit code, once it has ended; null if a signal ended it. */
  get ended(): Promise<number | null> {
    return this.#exited;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Resolves when the output matches. */
  async prints(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<void> {
    const endMs = Date.now() + WAIT_MS_MAX;
    while (!pattern.test(this[stream])) {
      if (this.#child.exitCode !== null || Date.now() > endMs) {
        await this.end('SIGKILL');
        throw new Error(`no ${pattern} in ${stream}:\n${this.stdout}\n${this.stderr}`);
      }
      await pause(10);
    }
  }

  /** Ends it and resolves to its exit code; null if the signal ended it. */
  end(signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT'): Promise<number | null> {
    this.#child.kill(signal);
    return this.#exited;
  }

  /** A command of the same folder that talks to this process. */
  command(name: string, ...args: string[]): Promise<Ended> {
    const option = name === 'put' ? '--kinesis-endpoint' : '--query-url';
    return tidemark([name, ...args, option, this.url], { cwd: this.folder });
  }

  /** Copies its data folder, by a process that does not ask it. */
  backup(to: string): Promise<Ended> {
    return tidemark(['backup', '--to', to], { cwd: this.folder });
  }

  /** A GET, or a POST of `body`, of the query API. */
  async call(path: string, body?: unknown): Promise<{ status: number; json: unknown }> {
    const headers = { 'content-type': 'application/json' };
    const post = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(`${this.url}${path}`, body === undefined ? {} : post);
    return { status: response.status, json: await response.json() };
  }
}

/** Ends what still runs and removes the folders: for `afterEach`. */
export async function cleanUp(devs: Dev[], folders: string[]): Promise<void> {
  for (const dev of devs.splice(0)) await dev.end('SIGKILL');
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function spawnTidemark(args: readonly string[], { cwd, env }: SpawnOptions): ChildProcess {
  return spawn(process.execPath, [CLI, ...args], { cwd, env: { ...process.env, ...env } });
}

function ended(child: ChildProcess, input = ''): Promise<Ended> {
  child.stdin?.end(input);
  return outputOf(child);
}

function outputOf(child: ChildProcess): Promise<Ended> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (text) => {
    stdout += text;
  });
  child.stderr?.on('data', (text) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}
