/**
 * Bytes of answers that wait to be sent, of all connections together: a client that asks and does not read leaves its answer
 * in memory.
 *
 * Invariant: each answer's bytes are given back exactly once, when it is sent or its connection has gone.
 */
import type { PortResponse } from './route.ts';

/** Errors, health and the like: they are sent however many bytes wait. */
const SMALL_BYTES_MAX = 16 * 1024;

/** What an answer is written to. */
interface Outlet {
  once(event: 'finish' | 'close', listener: () => void): unknown;
}

export class AnswerBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** False if another has to be sent instead. One that tells of an effect cannot be asked for again, so it always may. */
  allows({ body, tellsEffect = false }: PortResponse): boolean {
    if (this.#bytes < this.#bytesMax || tellsEffect) return true;
    return Buffer.byteLength(body) <= SMALL_BYTES_MAX;
  }

  /** Counts an answer until `outlet`, which is open, has sent it or is closed. */
  hold(byteLength: number, outlet: Outlet): void {
    this.#bytes += byteLength;
    let isHeld = true;
    const giveBack = () => {
      if (isHeld) this.#bytes -= byteLength;
      isHeld = false;
    };
    outlet.once('finish', giveBack);
    outlet.once('close', giveBack);
  }
}
