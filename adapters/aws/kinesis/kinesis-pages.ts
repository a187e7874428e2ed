/**
 * GetShardIterator and GetRecords, one call each, and what their refusals mean. Nothing here knows whether a page follows the
 * one before it without a gap: Kinesis does not say.
 */
import {
  GetRecordsCommand,
  GetShardIteratorCommand,
  type GetShardIteratorCommandInput,
  type KinesisClient,
  type _Record as KinesisRecord,
} from '@aws-sdk/client-kinesis';
import { unreachable } from '../../../core/assert.ts';
import {
  ConfigurationFault,
  ReplayGapFault,
  StreamMismatchFault,
  TransientFault,
} from '../../../core/faults.ts';
import { SEQUENCE_NUMBER_DIGITS_MAX } from '../../../core/limits.ts';
import type { Clock, StreamRecord } from '../../../core/ports.ts';
import { canonicalSequenceNumber } from '../../../core/position.ts';
import type { AwsCalls } from '../aws-calls.ts';
import type { ShardList } from './shard-list.ts';

/** Where a pipeline begins in each shard: with its oldest record, or at a time in milliseconds since the epoch. */
export type PipelineStart = 'TRIM_HORIZON' | number;

export type ReadFrom =
  /** Where the pipeline begins. */
  | { readonly kind: 'start' }
  /** The oldest record. */
  | { readonly kind: 'horizon' }
  /** The record itself. If it is gone, Kinesis begins at the oldest without a word. */
  | { readonly kind: 'record'; readonly sequenceNumber: string };

export type PageRead =
  | {
      readonly outcome: 'page';
      readonly records: StreamRecord[];
      /** Null at the end of a closed shard. */
      readonly next: string | null;
      /** True if nothing followed. */
      readonly atTip: boolean;
    }
  /** Iterators live for 5 minutes. */
  | { readonly outcome: 'expired' }
  /** A shard gives 2 MB and 5 answers a second, to all its readers. */
  | { readonly outcome: 'throttled'; readonly error: unknown };

type Place = Pick<
  GetShardIteratorCommandInput,
  'ShardIteratorType' | 'StartingSequenceNumber' | 'Timestamp'
>;

export interface KinesisPagesOptions {
  readonly client: KinesisClient;
  readonly calls: AwsCalls;
  readonly streamArn: string;
  readonly shards: ShardList;
  readonly start: PipelineStart;
  readonly clock: Clock;
}

/** The stream no longer has the shard. Those who read by position answer `gone` instead. */
export class ShardIsGone extends ReplayGapFault {}

export class KinesisPages {
  readonly #options: KinesisPagesOptions;
  /** By shard, where its stream writes shorter sequence numbers than Kinesis. */
  readonly #sequenceDigits = new Map<string, number>();

  constructor(options: KinesisPagesOptions) {
    this.#options = options;
  }

  /** An iterator. Throws `ShardIsGone` for a shard that is gone, `StreamMismatchFault` for a record that is none of the stream's. */
  async open(shardId: string, from: ReadFrom): Promise<string> {
    const { client, calls, streamArn } = this.#options;
    const place = await this.#placeOf(shardId, from);
    const command = new GetShardIteratorCommand({
      StreamARN: streamArn,
      ShardId: shardId,
      ...place,
    });
    try {
      const answer = await calls.send(
        `open ${shardId} of ${streamArn}`,
        (abortSignal) => client.send(command, { abortSignal }),
        (error) => isNotFound(error) || (from.kind === 'record' && isInvalid(error)),
      );
      return answer.ShardIterator ?? '';
    } catch (error) {
      if (isInvalid(error) && from.kind === 'record') {
        throw this.foreign(shardId, from.sequenceNumber, error);
      }
      if (isNotFound(error)) throw await this.#notFound(shardId, from, error);
      throw error;
    }
  }

  async read(shardId: string, iterator: string, countMax: number): Promise<PageRead> {
    const { client, calls, streamArn } = this.#options;
    const command = new GetRecordsCommand({
      StreamARN: streamArn,
      ShardIterator: iterator,
      Limit: countMax,
    });
    try {
      const answer = await calls.send(
        `read ${shardId} of ${streamArn}`,
        (abortSignal) => client.send(command, { abortSignal }),
        (error) => isExpired(error) || isThrottle(error) || isNotFound(error),
      );
      const records = (answer.Records ?? []).map(streamRecord);
      const next = answer.NextShardIterator ?? null;
      // A page that is full may end among records of one millisecond.
      const isLast = records.length < countMax && (answer.MillisBehindLatest ?? 0) === 0;
      return { outcome: 'page', records, next, atTip: next === null || isLast };
    } catch (error) {
      if (isExpired(error)) return { outcome: 'expired' };
      if (isThrottle(error)) return { outcome: 'throttled', error };
      if (isNotFound(error)) throw await this.#notFound(shardId, { kind: 'horizon' }, error);
      throw error;
    }
  }

  /** That a sequence number is none of the shard's, and why. */
  foreign(shardId: string, sequenceNumber: string, cause: unknown): StreamMismatchFault {
    const { streamArn } = this.#options;
    return new StreamMismatchFault(
      `the checkpoints have answered for ${sequenceNumber} of ${shardId}, which is no record of ${streamArn}: ${textOf(cause)}`,
      {
        hint: 'the stream and the table do not belong together: was the stream deleted and made again, or the table copied from another pipeline? Put back the one that is missing, or begin again on purpose with a new stack (docs/operations.md)',
        cause,
      },
    );
  }

  async #placeOf(shardId: string, from: ReadFrom): Promise<Place> {
    const { start, clock } = this.#options;
    switch (from.kind) {
      case 'record': {
        const written = await this.#asWritten(shardId, from.sequenceNumber);
        return { ShardIteratorType: 'AT_SEQUENCE_NUMBER', StartingSequenceNumber: written };
      }
      case 'horizon':
        return { ShardIteratorType: 'TRIM_HORIZON' };
      case 'start':
        if (start === 'TRIM_HORIZON') return { ShardIteratorType: 'TRIM_HORIZON' };
        if (start > clock.nowMs()) throw beginsLater(start);
        return { ShardIteratorType: 'AT_TIMESTAMP', Timestamp: new Date(start) };
      default:
        return unreachable(from);
    }
  }

  /** Kinesis writes all digits and no zeros before them. Who pads does not know the number without. */
  async #asWritten(shardId: string, sequenceNumber: string): Promise<string> {
    if (sequenceNumber.length >= SEQUENCE_NUMBER_DIGITS_MAX) return sequenceNumber;
    let digits = this.#sequenceDigits.get(shardId);
    if (digits === undefined) {
      digits = (await this.#find(shardId))?.sequenceDigits ?? 0;
      if (digits > 0) this.#sequenceDigits.set(shardId, digits);
    }
    return sequenceNumber.padStart(digits, '0');
  }

  /** Kinesis has one name for a stream, a shard and (an emulator) a record that is not there. */
  async #notFound(shardId: string, from: ReadFrom, cause: unknown): Promise<Error> {
    const { streamArn } = this.#options;
    if ((await this.#find(shardId)) === undefined) {
      return new ShardIsGone(`${streamArn} no longer has ${shardId}`, {
        hint: 'a closed shard goes when its last record is older than the retention, and its records with it; or the stream was made anew: start a new pipeline on it',
        cause,
      });
    }
    if (from.kind === 'record') return this.foreign(shardId, from.sequenceNumber, cause);
    return new TransientFault(`${streamArn} lists ${shardId} and does not find it`, { cause });
  }

  async #find(shardId: string) {
    return (await this.#options.shards.list()).find((shard) => shard.shardId === shardId);
  }
}

function beginsLater(startMs: number): ConfigurationFault {
  const time = new Date(startMs).toISOString();
  return new ConfigurationFault(`the pipeline begins at ${time}, which is yet to come`, {
    hint: 'wait until then, or deploy with an earlier start',
  });
}

function streamRecord(record: KinesisRecord): StreamRecord {
  return {
    sequenceNumber: canonicalSequenceNumber(record.SequenceNumber ?? ''),
    subSequence: 0,
    partitionKey: record.PartitionKey ?? '',
    arrivalMs: record.ApproximateArrivalTimestamp?.getTime() ?? 0,
    data: record.Data ?? new Uint8Array(0),
  };
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}

const isExpired = (error: unknown) => isNamed(error, 'ExpiredIteratorException');
const isInvalid = (error: unknown) => isNamed(error, 'InvalidArgumentException');
const isNotFound = (error: unknown) => isNamed(error, 'ResourceNotFoundException');
const isThrottle = (error: unknown) => isNamed(error, 'ProvisionedThroughputExceededException');

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
