/**
 * Reading one shard's records: by ordinal, by sequence number or by time. Ordinals of the records that are there are dense
 * and begin at `firstOrdinal`; arrival times never go back within a shard.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { assert, unreachable } from '../../../core/assert.ts';
import { StreamMismatchFault } from '../../../core/faults.ts';
import type { StreamRecord } from '../../../core/ports.ts';
import { comparePositions, type Position, START } from '../../../core/position.ts';
import {
  ordinalDigits,
  parseSequenceNumber,
  type SequenceParts,
  sequencePrefix,
  sequenceSuffix,
} from './sequence-number.ts';
import { recordsTable, type ShardInfo } from './stream-database.ts';

/** Where to begin to read. */
export type ReadFrom =
  | { readonly kind: 'TRIM_HORIZON' }
  | { readonly kind: 'LATEST' }
  | { readonly kind: 'AT'; readonly sequenceNumber: string }
  | { readonly kind: 'AFTER'; readonly sequenceNumber: string }
  | { readonly kind: 'AT_TIMESTAMP'; readonly timestampMs: number };

/** Why a sequence number is none of this shard's. */
export type Foreign = 'malformed' | 'other-shard' | 'other-stream' | 'not-written-yet';

export type Located =
  /** The first record to read has this ordinal; it may be trimmed, or still to come. */
  | { readonly outcome: 'located'; readonly ordinal: number }
  | { readonly outcome: 'foreign'; readonly reason: Foreign; readonly parts: SequenceParts | null };

export interface ReadLimits {
  readonly countMax: number;
  /** Data and partition keys together; the first record is read whatever its size. */
  readonly bytesMax: number;
}

/** The ordinals that are there: first ≤ ordinal < next. None if they are equal. */
export interface ShardBounds {
  readonly firstOrdinal: number;
  readonly nextOrdinal: number;
}

type RecordRow = [ordinal: number, arrivalMs: number, partitionKey: string, data: Uint8Array];

export class ShardLog {
  readonly shard: ShardInfo;
  readonly #prefix: string;
  readonly #selectFirst: StatementSync;
  readonly #selectTrimmed: StatementSync;
  readonly #selectNewest: StatementSync;
  readonly #selectRecords: StatementSync;
  readonly #selectArrival: StatementSync;

  constructor(database: DatabaseSync, shard: ShardInfo) {
    const table = recordsTable(shard.index);
    this.shard = shard;
    this.#prefix = sequencePrefix(shard.createdMs);
    this.#selectFirst = database.prepare(
      `SELECT first_ordinal AS ordinal FROM shards WHERE shard = ${shard.index}`,
    );
    this.#selectTrimmed = database.prepare(
      `SELECT trimmed_arrival_ms AS arrivalMs FROM shards WHERE shard = ${shard.index}`,
    );
    this.#selectNewest = database.prepare(`SELECT max(ordinal) AS ordinal FROM ${table}`);
    this.#selectRecords = database.prepare(
      `SELECT ordinal, arrival_ms, partition_key, data FROM ${table} WHERE ordinal >= ? ORDER BY ordinal LIMIT ?`,
    );
    this.#selectRecords.setReturnArrays(true);
    this.#selectArrival = database.prepare(
      `SELECT arrival_ms AS arrivalMs FROM ${table} WHERE ordinal = ?`,
    );
  }

  bounds(): ShardBounds {
    const first = this.#selectFirst.get()?.['ordinal'];
    assert(typeof first === 'number', 'shard-has-a-row', () => this.shard.shardId);
    const newest = this.#selectNewest.get()?.['ordinal'];
    return {
      firstOrdinal: first,
      nextOrdinal: typeof newest === 'number' ? newest + 1 : first,
    };
  }

  /** Records from `ordinal` on, in order. The caller makes sure that `ordinal` is not trimmed. */
  read(ordinal: number, limits: ReadLimits): StreamRecord[] {
    const records: StreamRecord[] = [];
    let bytes = 0;
    let suffix = '';
    let suffixMs = -1;
    for (const row of this.#selectRecords.iterate(ordinal, limits.countMax)) {
      const [at, arrivalMs, partitionKey, data] = row as unknown as RecordRow;
      assert(at === ordinal + records.length, 'ordinals-are-dense', () => `${ordinal}: ${at}`);
      bytes += data.byteLength + Buffer.byteLength(partitionKey);
      if (bytes > limits.bytesMax && records.length > 0) break;
      if (arrivalMs !== suffixMs) {
        suffix = sequenceSuffix(arrivalMs, this.shard.index);
        suffixMs = arrivalMs;
      }
      const sequenceNumber = this.#prefix + ordinalDigits(at) + suffix;
      records.push({ sequenceNumber, subSequence: 0, partitionKey, arrivalMs, data });
    }
    return records;
  }

  locate(from: ReadFrom): Located {
    const bounds = this.bounds();
    switch (from.kind) {
      case 'TRIM_HORIZON':
        return { outcome: 'located', ordinal: bounds.firstOrdinal };
      case 'LATEST':
        return { outcome: 'located', ordinal: bounds.nextOrdinal };
      case 'AT':
      case 'AFTER':
        return this.#locateSequence(from.sequenceNumber, from.kind === 'AFTER', bounds);
      case 'AT_TIMESTAMP':
        return { outcome: 'located', ordinal: this.firstArrivedAt(from.timestampMs, bounds) };
      default:
        return unreachable(from);
    }
  }

  /**
   * The ordinal of the first record after a position that an earlier read of this shard brought, or START. Sub-sequences do
   * not count: a position inside a KPL aggregate stands for the whole record. Throws `StreamMismatchFault` if the position is
   * none of this shard's: the file, or the checkpoints that name the position, were put back from a copy.
   */
  ordinalAfter(position: Position): number {
    if (comparePositions(position, START) === 0) return 1;
    const located = this.locate({ kind: 'AFTER', sequenceNumber: position.sequenceNumber });
    if (located.outcome === 'located') return located.ordinal;
    throw this.#mismatch(position, located);
  }

  /** The sequence number of a record that is there. */
  sequenceNumberAt(ordinal: number): string {
    const suffix = sequenceSuffix(this.#arrivalOf(ordinal), this.shard.index);
    return this.#prefix + ordinalDigits(ordinal) + suffix;
  }

  /** The ordinal of the first record that arrived at `timestampMs` or later; `nextOrdinal` if there is none. */
  firstArrivedAt(timestampMs: number, bounds: ShardBounds): number {
    let low = bounds.firstOrdinal;
    let high = bounds.nextOrdinal;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.#arrivalOf(middle) >= timestampMs) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #locateSequence(sequenceNumber: string, after: boolean, bounds: ShardBounds): Located {
    const parts = parseSequenceNumber(sequenceNumber);
    if (parts === null) return { outcome: 'foreign', reason: 'malformed', parts };
    if (parts.shardIndex !== this.shard.index) {
      return { outcome: 'foreign', reason: 'other-shard', parts };
    }
    if (parts.shardCreatedMs !== this.shard.createdMs) {
      return { outcome: 'foreign', reason: 'other-stream', parts };
    }
    if (parts.ordinal >= bounds.nextOrdinal) {
      return { outcome: 'foreign', reason: 'not-written-yet', parts };
    }
    if (!this.#isSameRecord(parts, bounds.firstOrdinal)) {
      return { outcome: 'foreign', reason: 'other-stream', parts };
    }
    return { outcome: 'located', ordinal: after ? parts.ordinal + 1 : parts.ordinal };
  }

  #mismatch(
    { sequenceNumber }: Position,
    { reason, parts }: Located & { outcome: 'foreign' },
  ): StreamMismatchFault {
    const { shardId } = this.shard;
    const found = parts === null ? '' : ` (record ${parts.ordinal} of ${timeOf(parts.arrivalMs)})`;
    return new StreamMismatchFault(
      `the checkpoints have answered for ${sequenceNumber}${found} of ${shardId}, and ${explain(reason, this.#tipText())}`,
      {
        hint: 'put back a stream.db and a checkpoint.db that were saved together (`tidemark backup`), each with its -wal file; to begin again on purpose, use an empty data folder',
      },
    );
  }

  #tipText(): string {
    const { nextOrdinal, firstOrdinal } = this.bounds();
    if (nextOrdinal === firstOrdinal) return `it holds no record after number ${nextOrdinal - 1}`;
    const newest = nextOrdinal - 1;
    return `its newest record is number ${newest} of ${timeOf(this.#arrivalOf(newest))}`;
  }

  /** Of records that are gone only the last one is known: none before it is asked for while all is well. */
  #isSameRecord({ ordinal, arrivalMs }: SequenceParts, firstOrdinal: number): boolean {
    if (ordinal >= firstOrdinal) return this.#arrivalOf(ordinal) === arrivalMs;
    const trimmedMs = this.#selectTrimmed.get()?.['arrivalMs'] ?? null;
    return ordinal < firstOrdinal - 1 || trimmedMs === null || trimmedMs === arrivalMs;
  }

  #arrivalOf(ordinal: number): number {
    const arrivalMs = this.#selectArrival.get(ordinal)?.['arrivalMs'];
    assert(typeof arrivalMs === 'number', 'ordinals-are-dense', () => `no record ${ordinal}`);
    return arrivalMs;
  }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

function explain(reason: Foreign, tip: string): string {
  switch (reason) {
    case 'malformed':
      return 'a local stream does not make such sequence numbers';
    case 'other-shard':
      return 'that names another shard';
    case 'other-stream':
      return `the stream has another record there, or was made at another time: ${tip}`;
    case 'not-written-yet':
      return `the stream ends before it: ${tip}. The stream is the older of the two`;
    default:
      return unreachable(reason);
  }
}
