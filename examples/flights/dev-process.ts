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

/** How it ended: by itself with a code, or by a signal. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const CLI = fileURLToPath(new URL('../../cli/bin.js', import.meta.url));

export class DevProcess {
  readonly #options: DevProcessOptions;
  #child: ChildProcess | null = null;
  #port = 0;
  #url = '';
  readonly #listeners = new Set<(line: DevLine) => void>();
  /** Lines that tell of a failure; a sound run has none. */
  readonly failures: string[] = [];
  peakRssMib = 0;

  constructor(options: DevProcessOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#url;
  }

  /** Resolves when it can serve; rejects if it ends before that. */
  async start(): Promise<void> {
    const ready = this.#line('ready');
    const child = this.#spawn();
    const ended = new Promise<never>((_, reject) => {
      child.once('exit', (code, signal) => {
        reject(new Error(`tidemark dev ended (${signal ?? code}) before it could serve`));
      });
    });
    const line = (await Promise.race([ready, ended])) as { url: string };
    this.#url = line.url;
    this.#port = Number(new URL(line.url).port);
    child.once('exit', (code, signal) => {
      if (this.#child === child)
        throw new Error(`tidemark dev ended by itself (${signal ?? code})`);
    });
  }

  /** SIGKILL, then a new process on the same data. `onReady` is called when it can serve. */
  async killAndRecover(onReady: () => void = () => {}): Promise<Recovery> {
    const startMs = performance.now();
    await this.end('SIGKILL');
    const replayed = this.#line('replaying');
    const done = this.#line('replayed');
    await this.start();
    onReady();
    // Nothing was unsaved if it does not say so right after it is ready.
    const nothing = new Promise<null>((resolve) => setTimeout(() => resolve(null), 200));
    const first = (await Promise.race([replayed, nothing])) as { records: number } | null;
    if (first !== null) await done;
    return { recoveryMs: performance.now() - startMs, replayed: first?.records ?? 0 };
  }

  async stop(): Promise<void> {
    await this.end('SIGTERM');
  }

  /** Ends it at any moment of its life. Null if it does not run. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<Exit | null> {
    const child = this.#child;
    if (child === null) return null;
    this.samplePeak();
    this.#child = null;
    const exited = new Promise<Exit>((resolve) => {
      child.once('exit', (code, by) => resolve({ code, signal: by }));
    });
    child.kill(signal);
    return exited;
  }

  samplePeak(): void {
    this.peakRssMib = Math.max(this.peakRssMib, this.#mib('VmHWM'));
  }

  /** What it has in memory now; 0 where that is not known. */
  rssMib(): number {
    return this.#mib('VmRSS');
  }

  #mib(field: 'VmHWM' | 'VmRSS'): number {
    const pid = this.#child?.pid;
    if (pid === undefined) return 0;
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
    } catch {
      // Not Linux, or gone: then there is no figure.
      return 0;
    }
  }

  #spawn(): ChildProcess {
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
    return child;
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
}
