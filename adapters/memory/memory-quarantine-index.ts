/**
 * The quarantine in memory. What is stored shares no byte with what was passed in or given out.
 */
import { assert } from '../../core/assert.ts';
import {
  ALL_QUARANTINED,
  isSelected,
  type QuarantinedPlace,
  type QuarantinedRecord,
  type QuarantineIndex,
  type QuarantineSelection,
  quarantineId,
} from '../../core/ports.ts';
import { QuarantinePage } from '../quarantine-page.ts';
import { copyBytes } from './stored-copy.ts';

interface Kept {
  /** Without its bytes once it is purged. */
  readonly record: QuarantinedRecord;
  readonly isPurged: boolean;
}

export class MemoryQuarantineIndex implements QuarantineIndex {
  readonly #records = new Map<string, Kept>();
  /** Its ids in order, until one is added. */
  #sortedIds: string[] | null = null;
  /** Commits and reasons that were put. */
  readonly #known = new Set<string>();

  async put(records: readonly QuarantinedRecord[]): Promise<void> {
    const names = new Set<string>();
    for (const record of records) {
      const { sliceId, timeline, epoch, reason } = record;
      const name = JSON.stringify([sliceId, timeline, epoch, reason]);
      names.add(name);
      const id = quarantineId(record);
      if (this.#known.has(name) || this.#records.has(id)) continue;
      this.#records.set(id, { record: copyRecord(record), isPurged: false });
      this.#sortedIds = null;
    }
    for (const name of names) this.#known.add(name);
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, QuarantinedRecord | 'purged'>> {
    const found = new Map<string, QuarantinedRecord | 'purged'>();
    for (const id of ids) {
      const kept = this.#records.get(id);
      if (kept !== undefined) found.set(id, kept.isPurged ? 'purged' : copyRecord(kept.record));
    }
    return found;
  }

  async list(after: string | null, limit: number): Promise<QuarantinedRecord[]> {
    const page = new QuarantinePage(limit);
    for (const record of this.#after(after, ALL_QUARANTINED)) {
      page.add(copyRecord(record));
      if (page.isFull) break;
    }
    return page.records;
  }

  async describe(
    after: string | null,
    limit: number,
    selection: QuarantineSelection,
  ): Promise<QuarantinedPlace[]> {
    assert(limit > 0, 'list-limit-is-positive');
    const found: QuarantinedPlace[] = [];
    for (const { data: _, ...place } of this.#after(after, selection)) {
      found.push(place);
      if (found.length === limit) break;
    }
    return found;
  }

  async purge(sliceId: string, ids: readonly string[], forgetBelow: number): Promise<void> {
    for (const id of ids) {
      const kept = this.#records.get(id);
      if (kept === undefined || kept.record.sliceId !== sliceId) continue;
      const record = { ...kept.record, data: new Uint8Array(0) };
      if (record.epoch >= forgetBelow) this.#records.set(id, { record, isPurged: true });
      else {
        this.#records.delete(id);
        this.#sortedIds = null;
      }
    }
  }

  *#after(after: string | null, selection: QuarantineSelection): Generator<QuarantinedRecord> {
    this.#sortedIds ??= [...this.#records.keys()].sort();
    const ids = this.#sortedIds;
    for (let at = firstAfter(ids, after); at < ids.length; at++) {
      const kept = this.#records.get(ids[at] as string);
      if (kept === undefined || kept.isPurged || !isSelected(kept.record, selection)) continue;
      yield kept.record;
    }
  }
}

/** Where in sorted ids those after `after` begin. */
function firstAfter(ids: readonly string[], after: string | null): number {
  let [low, high] = [0, ids.length];
  while (after !== null && low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] as string) <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}

function copyRecord(record: QuarantinedRecord): QuarantinedRecord {
  return { ...record, data: copyBytes(record.data) };
}
