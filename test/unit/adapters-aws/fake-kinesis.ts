/**
 * A Kinesis in memory that does what AWS's does where emulators do not: it goes on at the horizon without a word, its
 * iterators expire, it throttles, and it answers with nothing though records follow.
 */
import {
  ExpiredIteratorException,
  type GetRecordsCommandInput,
  type GetShardIteratorCommandInput,
  InvalidArgumentException,
  type KinesisClient,
  ProvisionedThroughputExceededException,
  ResourceNotFoundException,
} from '@aws-sdk/client-kinesis';

export const SHARD = 'shardId-000000000000';
export const ARN = 'arn:aws:kinesis:eu-central-1:000000000000:stream/flights';
/** Of the first record; others count on. 56 digits, as AWS has them. */
const FIRST_NUMBER = 49_590_338_271_490_256_608_559_692_538_361_571_095_921_575_989_136_588_898n;

export interface FakeRecord {
  readonly sequenceNumber: string;
  readonly arrivalMs: number;
  readonly data: string;
}

/** What a GetRecords call does instead of reading. `cut`: brings one record, however many were asked for. */
export type Fault = 'expired' | 'throttled' | 'empty' | 'cut' | 'unavailable';

export class FakeKinesis {
  /** Of the one shard, oldest first; those before `horizon` have expired. */
  readonly records: FakeRecord[] = [];
  horizon = 0;
  isClosed = false;
  isGone = false;
  /** One for each GetRecords call; null reads. */
  readonly faults: (Fault | null)[] = [];
  /** Runs before each GetRecords call. */
  beforeRead: () => void = () => {};
  /** The operations that were called, with what is telling of their input. */
  readonly calls: string[] = [];
  /** Digits of its numbers as written, with zeros before them. */
  pad = 0;
  /** Opens at a number that no record has, with the first record after it, as Kinesis may. */
  isLenient = false;
  readonly #clock: { nowMs(): number };

  constructor(clock: { nowMs(): number }) {
    this.#clock = clock;
  }

  append(...datas: string[]): FakeRecord[] {
    return datas.map((data) => {
      const number = this.pad === 0 ? FIRST_NUMBER : 1_000n;
      const record = {
        sequenceNumber: String(number + BigInt(this.records.length * 7)),
        arrivalMs: this.#clock.nowMs(),
        data,
      };
      this.records.push(record);
      return record;
    });
  }

  get client(): KinesisClient {
    const send = async (command: { readonly input: unknown }) =>
      this.#answer(command.constructor.name.replace('Command', ''), command.input);
    return { send } as unknown as KinesisClient;
  }

  countOf(operation: string): number {
    return this.calls.filter((call) => call.startsWith(operation)).length;
  }

  #answer(operation: string, input: unknown): unknown {
    switch (operation) {
      case 'ListShards':
        this.calls.push(operation);
        return this.#listShards();
      case 'GetShardIterator':
        return this.#getShardIterator(input as GetShardIteratorCommandInput);
      case 'GetRecords':
        return this.#getRecords(input as GetRecordsCommandInput);
      default:
        throw new Error(`the fake has no ${operation}`);
    }
  }

  #listShards() {
    if (this.isGone) return { Shards: [] };
    const range = { StartingSequenceNumber: this.#written('1') };
    return {
      Shards: [
        {
          ShardId: SHARD,
          HashKeyRange: { StartingHashKey: '0', EndingHashKey: String((1n << 128n) - 1n) },
          SequenceNumberRange: this.isClosed ? { ...range, EndingSequenceNumber: '9' } : range,
        },
      ],
    };
  }

  #getShardIterator(input: GetShardIteratorCommandInput) {
    const { ShardIteratorType: type, StartingSequenceNumber: asked, Timestamp: at } = input;
    this.calls.push(`GetShardIterator ${type}`);
    if (this.isGone) throw notFound(`Shard ${input.ShardId} in stream flights does not exist`);
    switch (type) {
      case 'TRIM_HORIZON':
        return { ShardIterator: '0' };
      case 'AT_TIMESTAMP': {
        const index = this.records.findIndex(({ arrivalMs }) => arrivalMs >= Number(at));
        return { ShardIterator: String(index < 0 ? this.records.length : index) };
      }
      case 'AT_SEQUENCE_NUMBER': {
        const index = this.records.findIndex((r) => this.#written(r.sequenceNumber) === asked);
        if (index < 0 && this.isLenient) {
          const next = this.records.findIndex((r) => BigInt(r.sequenceNumber) > BigInt(asked ?? 0));
          return { ShardIterator: String(next < 0 ? this.records.length : next) };
        }
        if (index < 0) throw invalid(`StartingSequenceNumber ${asked} is invalid`);
        return { ShardIterator: String(index) };
      }
      default:
        throw new Error(`the fake has no iterator of type ${type}`);
    }
  }

  #getRecords({ ShardIterator: iterator, Limit: limit = 10_000 }: GetRecordsCommandInput) {
    this.calls.push(`GetRecords ${limit}`);
    this.beforeRead();
    const fault = this.faults.shift() ?? null;
    if (fault === 'expired') throw expired();
    if (fault === 'throttled') throw throttled();
    if (fault === 'unavailable') throw new Error('socket hang up');
    const from = Math.max(Number(iterator), this.horizon);
    const count = fault === 'empty' ? 0 : fault === 'cut' ? 1 : limit;
    const page = this.records.slice(from, from + count);
    const next = from + page.length;
    const isEnd = next === this.records.length;
    return {
      Records: page.map(({ sequenceNumber, arrivalMs, data }) => ({
        SequenceNumber: this.#written(sequenceNumber),
        ApproximateArrivalTimestamp: new Date(arrivalMs),
        PartitionKey: 'key',
        Data: new TextEncoder().encode(data),
      })),
      ...(isEnd && this.isClosed ? {} : { NextShardIterator: String(next) }),
      // A page that is cut short by its limit may be behind by less than a millisecond.
      MillisBehindLatest: isEnd || fault === null ? 0 : 60_000,
    };
  }

  #written(sequenceNumber: string): string {
    return sequenceNumber.padStart(this.pad, '0');
  }
}

const $metadata = { httpStatusCode: 400 };
const notFound = (message: string) => new ResourceNotFoundException({ message, $metadata });
const invalid = (message: string) => new InvalidArgumentException({ message, $metadata });
const expired = () => new ExpiredIteratorException({ message: 'Iterator expired.', $metadata });
const throttled = () =>
  new ProvisionedThroughputExceededException({ message: 'Rate exceeded.', $metadata });
