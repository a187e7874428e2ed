/**
 * The order of what a reader's images hold, kept from question to question: sorted once, then only what came since. It goes
 * with its image.
 */
import type { Checkpoint } from '../checkpoint/restore.ts';
import { type ClosedEntry, compareClosedEntries } from '../state/closed-entries.ts';
import type { SliceImage } from '../state/slice-image.ts';
import { SortedKeys, type SortedWindow } from '../state/sorted-keys.ts';
import type { ViewTable } from '../state/view-table.ts';
import { ENTRIES_BETWEEN_PAUSES, type Pace } from './pace.ts';

interface KnownKeys {
  readonly keys: SortedKeys;
  /** The image holds exactly these. */
  readonly of: Checkpoint;
}

interface KnownEntries {
  readonly sorted: readonly ClosedEntry[];
  /** Of the image's entries, which are only added to, or replaced as a whole. */
  readonly last: ClosedEntry | undefined;
}

const REFERENCE_BYTES = 8;

export class RowIndexes {
  readonly #open = new WeakMap<ViewTable, KnownKeys>();
  readonly #late = new WeakMap<readonly ClosedEntry[], KnownEntries>();

  /** The index of the entries of a view's table, if there is one. */
  known(checkpoint: Checkpoint, viewIndex: number): SortedKeys | null {
    const known = this.#open.get(checkpoint.image.tables[viewIndex] as ViewTable);
    return known?.of === checkpoint ? known.keys : null;
  }

  /** All entries of a view's table. */
  async openKeys(checkpoint: Checkpoint, viewIndex: number, pace: Pace): Promise<SortedKeys> {
    const table = checkpoint.image.tables[viewIndex] as ViewTable;
    const known = this.#open.get(table);
    if (known?.of === checkpoint) return known.keys;
    const windows = windowsOf(table);
    const keys = await paced(known?.keys.followed(windows) ?? SortedKeys.of(windows), pace);
    this.#open.set(table, { keys, of: checkpoint });
    return keys;
  }

  /** The late partials of a view that no run holds, by key and window; some may be of the same ones. */
  async lateEntries(
    { image }: Checkpoint,
    viewIndex: number,
    pace: Pace,
  ): Promise<readonly ClosedEntry[]> {
    const entries = image.late[viewIndex] as readonly ClosedEntry[];
    const known = this.#late.get(entries) ?? NO_ENTRIES;
    const count = known.sorted.length;
    const isWhole = count === 0 || entries[count - 1] === known.last;
    if (isWhole && count === entries.length) return known.sorted;
    const sorted = isWhole
      ? await merged(known.sorted, await sortedEntries(entries.slice(count), pace), pace)
      : await sortedEntries(entries, pace);
    this.#late.set(entries, { sorted, last: entries.at(-1) });
    return sorted;
  }

  /** Bytes of memory that the indexes of an image take, about. */
  heapBytes({ tables, late }: SliceImage): number {
    let bytes = 0;
    for (const table of tables) bytes += this.#open.get(table)?.keys.heapBytes() ?? 0;
    for (const entries of late) {
      bytes += (this.#late.get(entries)?.sorted.length ?? 0) * REFERENCE_BYTES;
    }
    return bytes;
  }

  /** Drops the indexes of an image. */
  forget({ tables, late }: SliceImage): void {
    for (const table of tables) this.#open.delete(table);
    for (const entries of late) this.#late.delete(entries);
  }
}

const NO_ENTRIES: KnownEntries = { sorted: [], last: undefined };

export function windowsOf(table: ViewTable): SortedWindow[] {
  return table.windowStarts().map((startMs) => ({ startMs, keys: table.window(startMs) }));
}

/** What a generator returns that yields between portions of its work. */
export async function paced<T>(work: Generator<void, T, void>, pace: Pace): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await pace.pause();
  }
}

async function sortedEntries(entries: readonly ClosedEntry[], pace: Pace): Promise<ClosedEntry[]> {
  let portions: ClosedEntry[][] = [];
  for (let at = 0; at < entries.length; at += ENTRIES_BETWEEN_PAUSES) {
    portions.push(entries.slice(at, at + ENTRIES_BETWEEN_PAUSES).sort(compareClosedEntries));
    await pace.pause();
  }
  while (portions.length > 1) {
    const wider: ClosedEntry[][] = [];
    for (let at = 0; at < portions.length; at += 2) {
      wider.push(await merged(portions[at] ?? [], portions[at + 1] ?? [], pace));
    }
    portions = wider;
  }
  return portions[0] ?? [];
}

async function merged(
  a: readonly ClosedEntry[],
  b: readonly ClosedEntry[],
  pace: Pace,
): Promise<ClosedEntry[]> {
  const entries: ClosedEntry[] = [];
  let [atA, atB] = [0, 0];
  while (atA < a.length || atB < b.length) {
    const [left, right] = [a[atA], b[atB]];
    const isLeft =
      right === undefined || (left !== undefined && compareClosedEntries(left, right) <= 0);
    entries.push((isLeft ? left : right) as ClosedEntry);
    if (isLeft) atA++;
    else atB++;
    if (entries.length % ENTRIES_BETWEEN_PAUSES === 0) await pace.pause();
  }
  return entries;
}
