/**
 * Fairness between the invocations of one slice. A delivery is quick, so whatever takes longer loses its races for HEAD to
 * deliveries, for as long as they come. An invocation that has lost some asks the others, beside HEAD, to hold back for a
 * moment; they find that where they read HEAD anyway, and one that had read HEAD before can no longer write it.
 *
 * Invariants: what is committed is the same with a hold and without; an invocation waits `HOLD_MS_MAX` for one hold at most,
 * by pauses and by no clock, and its environment does not wait for that hold again; no invocation puts its hold over another
 * that others wait for. A hold whose owner died is taken away by whoever has waited for it in vain, so it costs others a moment,
 * once: also those that have no time left for anything after that wait.
 */
import type { Head } from '../checkpoint/head.ts';
import { TransientFault } from '../faults.ts';
import { HOLD_MS_MAX } from '../limits.ts';
import type { CheckpointStore, NonceSource, Pauses, TaskHeads } from '../ports.ts';
import type { Rebase } from './rebase.ts';

export interface HoldPorts {
  readonly heads: CheckpointStore;
  readonly nonces: NonceSource;
  readonly pauses: Pauses;
}

const STEP_MS = 50;

export class HeadHold {
  /** For all writes of this task. */
  readonly heads: TaskHeads;
  readonly #look: () => ReturnType<Rebase['lookAtHead']>;
  readonly #ports: HoldPorts;
  /** What this invocation has put beside HEAD. */
  #mine: string | null = null;
  /** What was waited for in vain. */
  #spent: string | null = null;
  /** What was beside the HEAD that was read last. */
  #passing: string | null = null;

  constructor(look: () => ReturnType<Rebase['lookAtHead']>, ports: HoldPorts) {
    this.#look = look;
    this.#ports = ports;
    const { heads } = ports;
    this.heads = {
      readHead: (sliceId) => heads.readHead(sliceId),
      createHead: (item) => heads.createHead(item),
      writeHead: (item, ifRevision) => heads.writeHead(item, ifRevision, this.#passing),
    };
  }

  /** HEAD as it is now, once no other invocation asks to hold back. */
  async readHead(): Promise<Head> {
    for (let waitedMs = 0; ; waitedMs += STEP_MS) {
      const { head, hold } = await this.#look();
      this.#passing = hold;
      if (hold === null || hold === this.#mine || hold === this.#spent) return head;
      if (waitedMs >= HOLD_MS_MAX) {
        this.#spent = hold;
        await this.#takeAway(head.sliceId, hold);
        return head;
      }
      await this.#ports.pauses.pause(STEP_MS);
    }
  }

  /**
   * Asks the others to hold back, until HEAD is written. Not over another that asks: two that put their names over each other
   * would both find every write refused.
   */
  async ask(sliceId: string): Promise<void> {
    const { heads, nonces } = this.#ports;
    this.#mine ??= nonces.nonce();
    await heads.holdHead(sliceId, this.#mine, this.#spent);
  }

  /** The invocation ends; no other need hold back for it any more. */
  async release(sliceId: string): Promise<void> {
    if (this.#mine === null) return;
    const mine = this.#mine;
    this.#mine = null;
    try {
      // Nearly always its own write of HEAD has ended it.
      const { hold } = await this.#look();
      if (hold === mine) await this.#takeAway(sliceId, mine);
    } catch (fault) {
      if (!(fault instanceof TransientFault)) throw fault;
    }
  }

  /** Where the store does not take that, the next write of HEAD ends the hold. */
  async #takeAway(sliceId: string, hold: string): Promise<void> {
    try {
      await this.#ports.heads.holdHead(sliceId, null, hold);
    } catch (fault) {
      if (!(fault instanceof TransientFault)) throw fault;
    }
  }
}
