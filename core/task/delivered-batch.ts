/**
 * A batch as an event source delivers it.
 */
import type { StreamRecord } from '../ports.ts';
import { compareRecords } from '../position.ts';

/** The batch by position, each record once. Lambda brings it so; a source that does not must not make a record look known. */
export function inOrderOf(records: readonly StreamRecord[]): readonly StreamRecord[] {
  for (let index = 1; index < records.length; index++) {
    const before = records[index - 1] as StreamRecord;
    if (compareRecords(before, records[index] as StreamRecord) >= 0) {
      const sorted = [...records].sort(compareRecords);
      return sorted.filter((record, at) => {
        const previous = sorted[at - 1];
        return previous === undefined || compareRecords(previous, record) !== 0;
      });
    }
  }
  return records;
}
