/**
 * Merging sorted entries of several sources into one run, as a stream: a few blocks of each source are in memory, and what of
 * the run was not taken yet.
 *
 * Invariant: every entry of every source is in the run; those of one key and window are one entry there.
 */
import { assert } from '../assert.ts';
import { Heap } from '../heap.ts';
import { RUN_AHEAD_BYTES } from '../limits.ts';
import { type ClosedEntry, compareClosedEntries } from '../state/closed-entries.ts';
import type { RunReader } from './run.ts';
import { RunEncoder, type RunEnding } from './run-encoder.ts';
import type { LivingView } from './run-index.ts';

/** What entries are merged from. */
export interface RunSource {
  /** The entries of one of the views, some at a time, in order of (key, window). */
  scan(view: LivingView, index: number): AsyncIterable<readonly ClosedEntry[]>;
  /** How many entries `scan` gives of all the views. */
  countOf(living: readonly LivingView[]): Promise<number>;
}

/** A run as a source. `aheadBytes`: of it that are read at once. */
export function sourceOf(reader: RunReader, aheadBytes: number = RUN_AHEAD_BYTES): RunSource {
  return {
    scan: (view) => reader.scanAhead(view, aheadBytes),
    countOf: (living) => reader.countOf(living),
  };
}

/** Entries that are merged between two looks at the time, about: a few milliseconds. */
const ENTRIES_AT_ONCE = 4_096;

/** Gives the bytes of the run, some at a time, maybe none; at last what a reference to it says beside its bytes. */
export async function* mergeRuns(
  living: readonly LivingView[],
  sources: readonly RunSource[],
  blockBytes: number,
): AsyncGenerator<Uint8Array, Omit<RunEnding, 'bytes'>> {
  const encoder = new RunEncoder(living, blockBytes);
  let expected = 0;
  for (const source of sources) expected += await source.countOf(living);
  let taken = 0;
  for (const [index, view] of living.entries()) {
    const heap = new Heap<Cursor>((a, b) => compareClosedEntries(a.entry, b.entry));
    for (const source of sources) {
      const cursor = new Cursor(source.scan(view, index));
      if (await cursor.next()) heap.add(cursor);
    }
    for (let first = heap.first; first !== undefined; first = heap.first) {
      encoder.add(index, first.entry);
      if (first.step() || (await first.next())) heap.replaceFirst(first);
      else heap.removeFirst();
      if (++taken % ENTRIES_AT_ONCE === 0) yield encoder.take();
    }
  }
  // Views and columns that the plan no longer has end here; a rollback reads the runs that its own base lists.
  assert(taken === expected, 'a-merge-takes-every-entry', () => `${taken} of ${expected}`);
  const { bytes, ...ending } = encoder.finish();
  yield bytes;
  return ending;
}

/** An entry of one source, and how to come to the one after it. */
class Cursor {
  readonly #scan: AsyncIterator<readonly ClosedEntry[]>;
  #entries: readonly ClosedEntry[] = [];
  #at = 0;
  entry: ClosedEntry = NONE;

  constructor(scan: AsyncIterable<readonly ClosedEntry[]>) {
    this.#scan = scan[Symbol.asyncIterator]();
  }

  /** Goes on to the next entry that is in memory; false if none is. */
  step(): boolean {
    this.#at++;
    return this.#take();
  }

  /** Goes on to the first entry of what is read now; false at the end. */
  async next(): Promise<boolean> {
    for (;;) {
      const { value, done } = await this.#scan.next();
      if (done) return false;
      this.#entries = value;
      this.#at = 0;
      if (this.#take()) return true;
    }
  }

  #take(): boolean {
    const entry = this.#entries[this.#at];
    if (entry === undefined) return false;
    const isInOrder = this.entry === NONE || compareClosedEntries(this.entry, entry) <= 0;
    assert(isInOrder, 'a-source-of-a-run-is-sorted');
    this.entry = entry;
    return true;
  }
}

const NONE: ClosedEntry = {
  windowStartMs: 0,
  key: new Uint8Array(),
  accumulators: new Uint8Array(),
};
