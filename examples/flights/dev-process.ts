/**
 * `tidemark dev` as a child process that can be killed and started again on the same data and port.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface DevProcessOptions {
  readonly pipeline: string;
  readonly dataFolder: string;
  readonly shards: number;
  readonly environments: number;
}

/** What the process says of itself in JSON lines. */
type DevLine =
  | { readonly event: 'ready'; readonly url: string }
  | { readonly event: 'replaying'; readonly records: number }
  | { readonly event: 'replayed'; readonly records: number; readonly ms: number }
  | { readonly event: 'invocation-failed' | 'request-failed' };

export interface Recovery {
  /** From the kill until everything that was on disk is in a checkpoint again. */
  readonly recoveryMs: number;
  /** Records that were on disk and in no checkpoint when it was killed. */
  readonly replayed: number;
}

const CLI = fileURLToPath(new URL('../../cli/bin.js', import.meta.url));

export class DevProcess {
  readonly #options: DevProcessOptions;
  #child: ChildProcess | null = null;
  #port = 0;
  #url = '';
  #listeners = new Set<(line: DevLine) => void>();
  /** Lines that tell of a failure; a sound run has none. */
  readonly failures: string[] = [];
  peakRssMib = 0;

  constructor(options: DevProcessOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#url;
  }

  /** Resolves when it can serve. */
  async start(): Promise<void> {
    const ready = this.#line('ready');
    this.#spawn();
    const line = (await ready) as { url: string };
    this.#url = line.url;
    this.#port = Number(new URL(line.url).port);
  }

  /** SIGKILL, then a new process on the same data. */
  async killAndRecover(): Promise<Recovery> {
    const startMs = performance.now();
    await this.#kill('SIGKILL');
    const replayed = this.#line('replaying');
    const done = this.#line('replayed');
    await this.start();
    // Nothing was unsaved if it does not say so right after it is ready.
    const nothing = new Promise<null>((resolve) => setTimeout(() => resolve(null), 200));
    const first = (await Promise.race([replayed, nothing])) as { records: number } | null;
    if (first !== null) await done;
    return { recoveryMs: performance.now() - startMs, replayed: first?.records ?? 0 };
  }

  stop(): Promise<void> {
    return this.#kill('SIGTERM');
  }

  samplePeak(): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      const kib = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0);
      this.peakRssMib = Math.max(this.peakRssMib, kib / 1024);
    } catch {
      // Not Linux, or gone: then there is no figure.
    }
  }

  #spawn(): void {
    const { pipeline, dataFolder, shards, environments } = this.#options;
    const options = { pipeline, data: dataFolder, port: this.#port, shards, environments };
    const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const child = spawn(process.execPath, [CLI, 'dev', '--json', ...flags], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = JSON.parse(text) as DevLine;
      if (line.event.endsWith('failed')) this.failures.push(text);
      for (const listener of this.#listeners) listener(line);
    });
    child.on('exit', (code) => {
      if (code !== null && code !== 0) throw new Error(`tidemark dev ended with code ${code}`);
    });
  }

  #line(event: DevLine['event']): Promise<DevLine> {
    return new Promise((resolve) => {
      const listener = (line: DevLine) => {
        if (line.event !== event) return;
        this.#listeners.delete(listener);
        resolve(line);
      };
      this.#listeners.add(listener);
    });
  }

  async #kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.samplePeak();
    this.#child = null;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await exited;
  }
}
