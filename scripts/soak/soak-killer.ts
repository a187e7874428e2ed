/**
 * Ends `tidemark dev` again and again, at any moment of its life: while it serves, while it starts, right after it is
 * ready, during a checkpoint; mostly by SIGKILL, sometimes by SIGTERM.
 */
import { callQueryApi } from '../../cli/query-client.ts';
import type { DevProcess } from '../../examples/flights/dev-process.ts';
import type { SoakLedger } from './soak-ledger.ts';
import { ask, isUnanswered } from './soak-reader.ts';
import type { Random } from './soak-records.ts';

export interface SoakKillerOptions {
  readonly dev: DevProcess;
  readonly ledger: SoakLedger;
  readonly random: Random;
  /** Told what is wrong. */
  readonly report: (wrong: string) => void;
}

type Moment = 'serving' | 'starting' | 'just-ready' | 'checkpoint' | 'terminate';

const MOMENTS: readonly (readonly [Moment, number])[] = [
  ['serving', 0.4],
  ['starting', 0.2],
  ['just-ready', 0.15],
  ['checkpoint', 0.15],
  ['terminate', 0.1],
];
const TERMINATE_MS_MAX = 15_000;

export class SoakKiller {
  readonly #options: SoakKillerOptions;
  readonly kills = new Map<Moment, number>();
  /** From the last of a series of kills to an answer with all that was acknowledged before it. */
  readonly recoveriesMs: number[] = [];
  checkpoints = 0;
  #deadSinceMs = 0;
  #owed: readonly string[] = [];

  constructor(options: SoakKillerOptions) {
    this.#options = options;
  }

  get killCount(): number {
    return [...this.kills.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Kills and starts until `endMs`; the process serves when this resolves. */
  async run(endMs: number): Promise<void> {
    while (performance.now() < endMs) {
      const moment = this.#choose();
      this.kills.set(moment, (this.kills.get(moment) ?? 0) + 1);
      await this.#kill(moment);
      await this.#options.dev.start();
      if (moment !== 'just-ready') await this.#answered();
    }
    await this.#answered();
  }

  async #kill(moment: Moment): Promise<void> {
    const { dev, random } = this.#options;
    switch (moment) {
      case 'serving':
        await pause(200 + random() * 1_500);
        if (random() < 0.5) await this.#checkpoint();
        await pause(random() * 1_000);
        await this.#end('SIGKILL');
        return;
      case 'starting': {
        await this.#end('SIGKILL');
        const started = dev.start().catch(() => {});
        await pause(random() * 600);
        await this.#end('SIGKILL');
        await started;
        return;
      }
      case 'just-ready':
        await pause(random() * 150);
        await this.#end('SIGKILL');
        return;
      case 'checkpoint': {
        await pause(random() * 1_000);
        const checkpoint = this.#checkpoint();
        await pause(random() * 200);
        await this.#end('SIGKILL');
        await checkpoint;
        return;
      }
      case 'terminate':
        await pause(random() * 1_500);
        await this.#end('SIGTERM');
        return;
    }
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { dev, ledger, report } = this.#options;
    this.#owed = ledger.newestPositions();
    const startMs = performance.now();
    this.#deadSinceMs = startMs;
    const exit = await dev.end(signal);
    if (signal === 'SIGKILL' || exit === null) return;
    const ms = Math.round(performance.now() - startMs);
    if (exit.code !== 0) report(`SIGTERM ended it with ${exit.signal ?? exit.code}, expected 0`);
    if (ms > TERMINATE_MS_MAX) report(`it took ${ms} ms to end at SIGTERM`);
  }

  /** Waits until everything that was acknowledged before the first kill is in an answer again. */
  async #answered(): Promise<void> {
    if (this.#deadSinceMs === 0) return;
    const { dev, report } = this.#options;
    const { reached } = await ask(dev.url, 'totals', this.#owed);
    if (reached === false)
      report('acknowledged records were not in an answer 10 s after a restart');
    this.recoveriesMs.push(performance.now() - this.#deadSinceMs);
    this.#deadSinceMs = 0;
  }

  async #checkpoint(): Promise<void> {
    const { dev, report } = this.#options;
    try {
      await callQueryApi(dev.url, '/v1/checkpoint', {});
      this.checkpoints++;
    } catch (error) {
      if (!isUnanswered(error)) report(`a checkpoint failed: ${(error as Error).message}`);
    }
  }

  #choose(): Moment {
    let left = this.#options.random();
    for (const [moment, share] of MOMENTS) {
      left -= share;
      if (left < 0) return moment;
    }
    return 'serving';
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
