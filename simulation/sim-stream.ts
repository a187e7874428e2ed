/**
 * A stream with Kinesis's semantics: sparse sequence numbers that grow within a shard, hash ranges, shards that close when
 * they are split or merged, records that are trimmed from the beginning. The whole log of every shard stays known, for the
 * oracle; a reader gets only what is left.
 *
 * Short and empty reads, and iterators that expire, are drawn here, since the answer of a read is the stream's.
 */
import { assert } from '../core/assert.ts';
import { StreamMismatchFault, TransientFault } from '../core/faults.ts';
import { hashTextHex } from '../core/hash.ts';
import type {
  HashRange,
  RecordSource,
  ShardDirectory,
  SourceRead,
  StreamRecord,
} from '../core/ports.ts';
import { countUpTo, type Position, START } from '../core/position.ts';
import type { Random } from './random.ts';

export interface SimShard {
  readonly id: string;
  readonly range: HashRange;
  readonly parents: readonly SimShard[];
  /** Every record that it ever took, in order. */
  readonly log: StreamRecord[];
  /** Records at the beginning that are gone. */
  trimmed: number;
  isClosed: boolean;
}

export interface StreamHabits {
  readonly shortReadRate: number;
  readonly emptyReadRate: number;
}

const HASH_DIGITS = 32;
const HASH_LIMIT = 1n << 128n;
/** 56 digits, as Kinesis's are. */
const FIRST_SEQUENCE_NUMBER =
  49_590_338_271_490_256_608_559_692_538_361_571_095_921_575_989_136_588_898n;
const LONGER_SEQUENCE_NUMBER = 10n ** 55n;
const USUAL_STEP = 2n ** 51n;
const MEBI = 2 ** 20;
const STREAM_ID = '5'.repeat(16);

export class SimStream implements RecordSource, ShardDirectory {
  readonly #shards: SimShard[] = [];
  readonly #random: Random;
  #habits: StreamHabits;
  #sequenceNumber: bigint;

  constructor(shardCount: number, habits: StreamHabits, random: Random) {
    this.#random = random;
    this.#habits = habits;
    // Now and then one digit longer on the way: they are numbers, not text.
    const gains = random.chance(0.3);
    this.#sequenceNumber = gains
      ? LONGER_SEQUENCE_NUMBER - BigInt(random.below(60)) * USUAL_STEP
      : FIRST_SEQUENCE_NUMBER;
    const width = HASH_LIMIT / BigInt(shardCount);
    for (let index = 0; index < shardCount; index++) {
      const end = index === shardCount - 1 ? HASH_LIMIT : width * BigInt(index + 1);
      this.#open(width * BigInt(index), end, []);
    }
  }

  get shards(): readonly SimShard[] {
    return this.#shards;
  }

  shard(id: string): SimShard {
    const found = this.#shards.find((shard) => shard.id === id);
    assert(found !== undefined, 'a-shard-is-known', () => id);
    return found;
  }

  /** Reads are whole from now on. */
  calm(): void {
    this.#habits = { shortReadRate: 0, emptyReadRate: 0 };
  }

  put(partitionKey: string, data: Uint8Array, arrivalMs: number): StreamRecord {
    const hash = hashTextHex(partitionKey);
    const shard = this.#shards.find(
      ({ isClosed, range }) => !isClosed && range.start <= hash && hash <= range.end,
    );
    assert(shard !== undefined, 'open-shards-cover-all-keys');
    const step = this.#random.word() * MEBI + this.#random.below(MEBI) + 1;
    this.#sequenceNumber += BigInt(step);
    const sequenceNumber = String(this.#sequenceNumber);
    const record = { sequenceNumber, subSequence: 0, partitionKey, arrivalMs, data };
    shard.log.push(record);
    return record;
  }

  /** Closes a shard; two take its place. False if its range is too narrow or it is closed. */
  split(shard: SimShard): boolean {
    const [start, end] = boundsOf(shard);
    if (shard.isClosed || end - start < 2n) return false;
    shard.isClosed = true;
    const middle = start + (end - start) / 2n;
    this.#open(start, middle, [shard]);
    this.#open(middle, end, [shard]);
    return true;
  }

  /** Closes a shard and its right neighbour; one takes their place. False if there is none. */
  merge(shard: SimShard): boolean {
    const [start, end] = boundsOf(shard);
    const right = this.#shards.find((each) => !each.isClosed && boundsOf(each)[0] === end);
    if (shard.isClosed || right === undefined) return false;
    shard.isClosed = true;
    right.isClosed = true;
    this.#open(start, boundsOf(right)[1], [shard, right]);
    return true;
  }

  /** Forgets the first `count` records of a shard. */
  trim(shard: SimShard, count: number): void {
    shard.trimmed = Math.max(shard.trimmed, Math.min(count, shard.log.length));
  }

  /** Records after a position that are left, as Lambda's own poller reads them. */
  peek(shard: SimShard, after: Position, limit: number): StreamRecord[] {
    const from = Math.max(shard.trimmed, recordsUpTo(shard, after));
    return shard.log.slice(from, from + limit);
  }

  async readAfter(shardId: string, after: Position, limit: number): Promise<SourceRead> {
    assert(limit > 0, 'read-limit-is-positive');
    const shard = this.shard(shardId);
    const { shortReadRate, emptyReadRate } = this.#habits;
    const from = recordsUpTo(shard, after);
    if ((shard.log[from - 1] ?? START).sequenceNumber !== after.sequenceNumber) {
      throw new StreamMismatchFault(`${shardId} never had a record ${after.sequenceNumber}`);
    }
    if (from < shard.trimmed) {
      return { outcome: 'trimmed', oldest: shard.log[shard.trimmed] ?? null };
    }
    if (this.#random.chance(emptyReadRate)) {
      if (this.#random.chance(0.3)) throw new TransientFault('the shard iterator has expired');
      return { outcome: 'records', origin: 'stream', records: [], reachedTip: false };
    }
    const isShort = this.#random.chance(shortReadRate);
    const count = isShort ? this.#random.between(1, limit) : limit;
    const records = shard.log.slice(from, from + count);
    return {
      outcome: 'records',
      origin: 'stream',
      records,
      reachedTip: from + records.length === shard.log.length,
    };
  }

  async streamId(): Promise<string> {
    return STREAM_ID;
  }

  async hashRange(shardId: string): Promise<HashRange> {
    return this.shard(shardId).range;
  }

  async shardIds(): Promise<string[]> {
    return this.#shards.map(({ id }) => id);
  }

  #open(start: bigint, end: bigint, parents: readonly SimShard[]): void {
    const id = `shardId-${String(this.#shards.length).padStart(12, '0')}`;
    const range = { start: hexOf(start), end: hexOf(end - 1n) };
    this.#shards.push({ id, range, parents, log: [], trimmed: 0, isClosed: false });
  }
}

/** How many of the shard's records lie at or before a position. */
export function recordsUpTo({ log }: SimShard, position: Position): number {
  return countUpTo(log, position);
}

function boundsOf({ range }: SimShard): readonly [start: bigint, end: bigint] {
  return [BigInt(`0x${range.start}`), BigInt(`0x${range.end}`) + 1n];
}

function hexOf(value: bigint): string {
  return value.toString(16).padStart(HASH_DIGITS, '0');
}
