/**
 * Which window an instant falls into. The windows of a view tile time: each instant lies in exactly one, and one ends
 * where the next begins.
 *
 * - Whole days follow the zone, so that a day has 23 or 25 hours where clocks change. Several days count from the local
 *   1970-01-01.
 * - Other sizes are aligned to the epoch, whatever the zone.
 */
import type { Zone } from './zone.ts';

/** Both functions remember their last answer: records come nearly in the order of time. */
export interface WindowAssigner {
  /** Start of the window that an instant falls into, in milliseconds since the epoch. */
  startOf(timeMs: number): number;
  /** End (exclusive) of the window that starts at `startMs`. */
  endOf(startMs: number): number;
}

/** One that starts at 0 by convention and never ends (Infinity). */
export const UNBOUNDED_WINDOW: WindowAssigner = {
  startOf: () => 0,
  endOf: () => Number.POSITIVE_INFINITY,
};

export class EpochWindows implements WindowAssigner {
  readonly #sizeMs: number;
  #fromMs = 0;

  constructor(sizeMs: number) {
    this.#sizeMs = sizeMs;
  }

  startOf(timeMs: number): number {
    const into = timeMs - this.#fromMs;
    if (into < 0 || into >= this.#sizeMs) {
      this.#fromMs = Math.floor(timeMs / this.#sizeMs) * this.#sizeMs;
    }
    return this.#fromMs;
  }

  endOf(startMs: number): number {
    return startMs + this.#sizeMs;
  }
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

const NOWHERE: Span = { fromMs: Number.NaN, toMs: Number.NaN };

export class DayWindows implements WindowAssigner {
  readonly #days: number;
  readonly #zone: Zone;
  #last: Span = NOWHERE;
  #lastEnded: Span = NOWHERE;

  constructor(days: number, zone: Zone) {
    this.#days = days;
    this.#zone = zone;
  }

  startOf(timeMs: number): number {
    const isInLast = timeMs >= this.#last.fromMs && timeMs < this.#last.toMs;
    if (!isInLast) this.#last = this.#locate(timeMs);
    return this.#last.fromMs;
  }

  endOf(startMs: number): number {
    if (startMs === this.#last.fromMs) return this.#last.toMs;
    if (startMs !== this.#lastEnded.fromMs) this.#lastEnded = this.#locate(startMs);
    return this.#lastEnded.toMs;
  }

  #locate(timeMs: number): Span {
    let index = Math.floor(this.#zone.dayAt(timeMs) / this.#days);
    // A clock that goes back across midnight shows a day again: the window is the span of time, not the clock's day.
    while (timeMs >= this.#boundary(index + 1)) index++;
    return { fromMs: this.#boundary(index), toMs: this.#boundary(index + 1) };
  }

  #boundary(index: number): number {
    return this.#zone.dayStart(index * this.#days);
  }
}
