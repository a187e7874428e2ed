/**
 * What the newest epochs of a memory have changed: which entries, and the bytes of what else their deltas say. So several deltas
 * can be merged into one without reading them: the entries are in the tables, each once however often it changed.
 *
 * Known are epochs that follow each other, the newest last, as many as fit its bound. Between them no view began another life, and
 * ids were known by the same field and time.
 */
import { assert } from '../assert.ts';
import type { ChangeObserver, ChangeTail } from './change-tail.ts';
import { type DedupeLife, hasSameIds } from './dedupe-life.ts';
import type { WindowEntries } from './key-table.ts';
import type { SliceImage } from './slice-image.ts';
import { sameLives, type ViewLife } from './view-life.ts';
import type { ViewTable } from './view-table.ts';

/** Entries of one window, by ordinal. */
export interface ChangedWindow {
  readonly view: number;
  readonly windowStartMs: number;
  readonly keys: WindowEntries;
  readonly ordinals: Uint32Array;
}

/** What the epochs after one, up to another, have changed. */
export interface RecentChange {
  readonly after: number;
  readonly epoch: number;
  readonly windows: readonly ChangedWindow[];
  readonly tails: readonly ChangeTail[];
}

/** Of memory, for one slice. */
const BYTES_MAX = 2 * 1024 * 1024;

export class RecentChanges {
  #changes: RecentChange[] = [];
  #lives: readonly (ViewLife | null)[] = [];
  #dedupe: DedupeLife | null = null;

  /**
   * The image holds the change, which a commit by the plan `planHash` made. What is known of windows that have left it goes. What
   * another plan wrote is not known: its views, and what its ids are known by, may be others.
   */
  add(change: RecentChange, image: SliceImage, planHash: string): void {
    if (planHash !== image.plan.hash) {
      this.#changes = [];
      return;
    }
    const goesOn =
      change.after === this.#changes.at(-1)?.epoch &&
      image.lives.every((life, view) => sameLives(life, this.#lives[view] ?? null)) &&
      isSamePolicy(image.dedupe, this.#dedupe);
    if (!goesOn) this.#changes = [];
    this.#lives = image.lives.slice();
    this.#dedupe = image.dedupe;
    this.#changes = [...this.#changes, change];
    this.#forgetWhatLeft(image);
    let bytes = 0;
    const first = this.#changes.findLastIndex((each) => {
      bytes += bytesOf(each);
      return bytes > BYTES_MAX;
    });
    this.#changes.splice(0, first + 1);
  }

  /** The epochs after which all is known, ascending, of those that begin where a change does. */
  get beginnings(): number[] {
    return this.#changes.map(({ after }) => after);
  }

  /**
   * All that was changed after an epoch and is still in the image, and by `newest`, which is not among it; the epoch is one of
   * `beginnings`. Null: more than `entriesMax` entries.
   */
  since(
    after: number,
    newest: RecentChange,
    image: SliceImage,
    entriesMax: number,
  ): RecentChange | null {
    // A base may have drained windows since the last change: their ordinals lead to nothing any more.
    this.#forgetWhatLeft(image);
    const first = this.#changes.findIndex((change) => change.after === after);
    assert(first >= 0, 'what-is-merged-is-known');
    return together([...this.#changes.slice(first), newest], entriesMax);
  }

  /** What was changed after an epoch stands as one from here on. */
  merge(after: number): void {
    const first = this.#changes.findIndex((change) => change.after === after);
    if (first < 0) return;
    const one = together(this.#changes.slice(first), Number.POSITIVE_INFINITY) as RecentChange;
    this.#changes.splice(first, Number.POSITIVE_INFINITY, one);
  }

  #forgetWhatLeft({ tables }: SliceImage): void {
    this.#changes = this.#changes.map((each) => ({
      ...each,
      windows: each.windows.filter(({ view, windowStartMs, keys }) => {
        return keys.size > 0 && tables[view]?.window(windowStartMs) === keys;
      }),
    }));
  }
}

/** What is told of entries besides. */
type EntryObserver = Pick<ChangeObserver, 'noteEntry'>;

/** Takes down what a change says while an image takes it in, and passes it on. */
export class ChangeRecorder implements ChangeObserver {
  readonly #image: SliceImage;
  readonly #also: EntryObserver;
  readonly #windows: { view: number; windowStartMs: number; ordinals: number[] }[] = [];
  readonly #tails: ChangeTail[] = [];

  constructor(image: SliceImage, also: EntryObserver) {
    this.#image = image;
    this.#also = also;
  }

  noteEntry(view: number, windowStartMs: number, key: Uint8Array, ordinal: number): void {
    this.#also.noteEntry(view, windowStartMs, key, ordinal);
    const last = this.#windows.at(-1);
    // Entries of one window come together.
    if (last?.view === view && last.windowStartMs === windowStartMs) last.ordinals.push(ordinal);
    else this.#windows.push({ view, windowStartMs, ordinals: [ordinal] });
  }

  noteTail(epoch: number, bytes: Uint8Array): void {
    this.#tails.push({ epoch, bytes: bytes.slice() });
  }

  /** All of it: of a link that goes on from a delta, up to an epoch. */
  change({
    before,
    epoch,
  }: {
    readonly before: { readonly epoch: number } | null;
    readonly epoch: number;
  }): RecentChange {
    const after = before?.epoch ?? 0;
    const { tables } = this.#image;
    const windows = this.#windows.map(({ view, windowStartMs, ordinals }) => {
      const keys = (tables[view] as ViewTable).window(windowStartMs);
      return { view, windowStartMs, keys, ordinals: Uint32Array.from(ordinals) };
    });
    return { after, epoch, windows, tails: this.#tails };
  }
}

/** Several that follow each other as one. Null: more than `entriesMax` entries, which is found before they are listed. */
function together(changes: readonly RecentChange[], entriesMax: number): RecentChange | null {
  const byKeys = Map.groupBy(
    changes.flatMap(({ windows }) => windows),
    ({ keys }) => keys,
  );
  const marked: [ChangedWindow, OrdinalMarks][] = [];
  let left = entriesMax;
  for (const windows of byKeys.values()) {
    const marks = new OrdinalMarks(windows);
    for (const { ordinals } of windows) if (!marks.add(ordinals, left)) return null;
    left -= marks.count;
    marked.push([windows[0] as ChangedWindow, marks]);
  }
  return {
    after: (changes[0] as RecentChange).after,
    epoch: (changes.at(-1) as RecentChange).epoch,
    windows: marked.map(([window, marks]) => ({ ...window, ordinals: marks.list() })),
    tails: changes.flatMap(({ tails }) => tails),
  };
}

/** Which entries of a window have changed: a bit for each, which takes less time than a sort even where few have. */
class OrdinalMarks {
  readonly #words: Uint32Array;
  count = 0;

  constructor(windows: readonly ChangedWindow[]) {
    let last = 0;
    for (const { ordinals } of windows) {
      for (const ordinal of ordinals) if (ordinal > last) last = ordinal;
    }
    this.#words = new Uint32Array((last >>> 5) + 1);
  }

  /** False, and not all are marked: they would be more than `most`. */
  add(ordinals: Uint32Array, most: number): boolean {
    const words = this.#words;
    for (const ordinal of ordinals) {
      const word = words[ordinal >>> 5] as number;
      const marked = (word | (1 << (ordinal & 31))) >>> 0;
      if (marked === word) continue;
      if (this.count === most) return false;
      words[ordinal >>> 5] = marked;
      this.count++;
    }
    return true;
  }

  /** Ascending, so that an encoder goes through the tables forwards. */
  list(): Uint32Array {
    const list = new Uint32Array(this.count);
    let end = 0;
    for (let index = 0; index < this.#words.length; index++) {
      for (let word = this.#words[index] as number; word !== 0; word &= word - 1) {
        list[end++] = index * 32 + 31 - Math.clz32(word & -word);
      }
    }
    return list;
  }
}

function isSamePolicy(a: DedupeLife | null, b: DedupeLife | null): boolean {
  return hasSameIds(a, b) && a?.withinMs === b?.withinMs && a?.forgottenMs === b?.forgottenMs;
}

function bytesOf({ windows, tails }: RecentChange): number {
  const ofWindows = windows.reduce((sum, { ordinals }) => sum + ordinals.byteLength, 0);
  return tails.reduce((sum, { bytes }) => sum + bytes.length, ofWindows);
}
