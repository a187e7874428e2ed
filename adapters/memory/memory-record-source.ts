/**
 * A stream in memory: a log for each shard, in the order of positions, that can be trimmed from its beginning.
 */
import { assert } from '../../core/assert.ts';
import { StreamMismatchFault } from '../../core/faults.ts';
import type { RecordSource, SourceRead, StreamRecord } from '../../core/ports.ts';
import {
  comparePositions,
  compareRecords,
  countUpTo,
  type Position,
  START,
} from '../../core/position.ts';
import { copyBytes } from './stored-copy.ts';

interface ShardLog {
  /** Ascending. */
  records: StreamRecord[];
  /** The last record that is gone; START if none is. */
  trimmedTo: Position;
}

export class MemoryRecordSource implements RecordSource {
  readonly #logs = new Map<string, ShardLog>();

  /** Adds a record to the end of a shard's log. Its position must lie after all that the shard ever had. */
  append(shardId: string, record: StreamRecord): void {
    let log = this.#logs.get(shardId);
    if (log === undefined) {
      log = { records: [], trimmedTo: START };
      this.#logs.set(shardId, log);
    }
    const end = log.records.at(-1) ?? log.trimmedTo;
    assert(compareRecords(record, end) > 0, 'a-log-grows-at-its-end', () => shardId);
    log.records.push(copyRecord(record));
  }

  /** Forgets the shard's records up to and including `to`. */
  trim(shardId: string, to: Position): void {
    const log = this.#logs.get(shardId);
    if (log === undefined) return;
    const kept = countUpTo(log.records, to);
    const last = log.records[kept - 1];
    if (last === undefined) return;
    const { sequenceNumber, subSequence } = last;
    log.trimmedTo = { sequenceNumber, subSequence };
    log.records = log.records.slice(kept);
  }

  /** Shards that a record was appended to. */
  async shardIds(): Promise<string[]> {
    return [...this.#logs.keys()];
  }

  /** A shard that no record was appended to is an empty log. */
  async readAfter(shardId: string, after: Position, limit: number): Promise<SourceRead> {
    assert(limit > 0, 'read-limit-is-positive');
    const log = this.#logs.get(shardId);
    if (log === undefined) {
      if (comparePositions(after, START) !== 0) throw mismatch(shardId, after);
      return { outcome: 'records', origin: 'stream', records: [], reachedTip: true };
    }
    if (comparePositions(after, log.trimmedTo) < 0) {
      const oldest = log.records[0];
      if (oldest === undefined) return { outcome: 'trimmed', oldest: null };
      const { sequenceNumber, subSequence } = oldest;
      return { outcome: 'trimmed', oldest: { sequenceNumber, subSequence } };
    }
    const start = countUpTo(log.records, after);
    const at = log.records[start - 1] ?? log.trimmedTo;
    if (at.sequenceNumber !== after.sequenceNumber) throw mismatch(shardId, after);
    const records = log.records.slice(start, endOfRead(log.records, start, limit)).map(copyRecord);
    return {
      outcome: 'records',
      origin: 'stream',
      records,
      reachedTip: start + records.length === log.records.length,
    };
  }
}

/** Behind the first `limit` Kinesis records from `start` on, each with all that is inside. */
function endOfRead(records: readonly StreamRecord[], start: number, limit: number): number {
  let end = start;
  for (let kinesisCount = 0; end < records.length; end++) {
    const begins = records[end]?.sequenceNumber !== records[end - 1]?.sequenceNumber;
    if (begins && kinesisCount++ === limit) break;
  }
  return end;
}

function mismatch(shardId: string, { sequenceNumber }: Position): StreamMismatchFault {
  return new StreamMismatchFault(`${shardId} has no record ${sequenceNumber}, and had none`);
}

function copyRecord(record: StreamRecord): StreamRecord {
  return { ...record, data: copyBytes(record.data) };
}
