/**
 * A clock that stands still until it is set.
 */
import { assert } from '../../core/assert.ts';
import type { Clock } from '../../core/ports.ts';

export class MemoryClock implements Clock {
  #nowMs: number;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** May go back, as a machine's clock may. */
  set(nowMs: number): void {
    this.#nowMs = nowMs;
  }

  advance(byMs: number): void {
    assert(byMs >= 0, 'a-clock-advances-forward', () => `${byMs} ms`);
    this.#nowMs += byMs;
  }
}
