/**
 * The listing of quarantined records in memory. What is stored shares no byte with what was passed in or given out.
 */
import { assert } from '../../core/assert.ts';
import { type QuarantinedRecord, type QuarantineIndex, quarantineId } from '../../core/ports.ts';
import { bySortKey, copyBytes } from './stored-copy.ts';

export class MemoryQuarantineIndex implements QuarantineIndex {
  readonly #records = new Map<string, QuarantinedRecord>();

  async put(records: readonly QuarantinedRecord[]): Promise<void> {
    for (const record of records) {
      const id = quarantineId(record);
      if (!this.#records.has(id)) this.#records.set(id, copyRecord(record));
    }
  }

  async get(id: string): Promise<QuarantinedRecord | null> {
    const record = this.#records.get(id);
    return record === undefined ? null : copyRecord(record);
  }

  async list(after: string | null, limit: number): Promise<QuarantinedRecord[]> {
    assert(limit > 0, 'list-limit-is-positive');
    return [...this.#records]
      .filter(([id]) => after === null || id > after)
      .sort(bySortKey(([id]) => id))
      .slice(0, limit)
      .map(([, record]) => copyRecord(record));
  }
}

function copyRecord(record: QuarantinedRecord): QuarantinedRecord {
  return { ...record, data: copyBytes(record.data) };
}
