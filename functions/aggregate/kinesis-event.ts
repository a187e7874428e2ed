/**
 * The event that Lambda's event source mapping for Kinesis brings, and its records as the core takes them.
 */
import type { StreamRecord } from '../../core/ports.ts';
import { canonicalSequenceNumber } from '../../core/position.ts';

export interface KinesisEventRecord {
  readonly eventID: string;
  readonly eventName: 'aws:kinesis:record';
  readonly eventVersion: '1.0';
  readonly eventSource: 'aws:kinesis';
  readonly eventSourceARN: string;
  readonly awsRegion: string;
  readonly invokeIdentityArn: string;
  readonly kinesis: {
    readonly kinesisSchemaVersion: '1.0';
    readonly partitionKey: string;
    readonly sequenceNumber: string;
    /** Base64. */
    readonly data: string;
    /** Seconds since the epoch, with a fraction. */
    readonly approximateArrivalTimestamp: number;
  };
}

export interface KinesisEvent {
  readonly Records: readonly KinesisEventRecord[];
}

/** Where an event says that it comes from. */
export interface EventOrigin {
  readonly stream: string;
  readonly shardId: string;
  readonly region: string;
  /** The name of the role that it is invoked under. */
  readonly role: string;
}

/** A record as an event source mapping brings it: the inverse of `shardBatches`. */
export function kinesisEventRecord(
  { sequenceNumber, partitionKey, arrivalMs, data }: StreamRecord,
  { stream, shardId, region, role }: EventOrigin,
): KinesisEventRecord {
  return {
    eventID: `${shardId}:${sequenceNumber}`,
    eventName: 'aws:kinesis:record',
    eventVersion: '1.0',
    eventSource: 'aws:kinesis',
    eventSourceARN: `arn:aws:kinesis:${region}:000000000000:stream/${stream}`,
    awsRegion: region,
    invokeIdentityArn: `arn:aws:iam::000000000000:role/${role}`,
    kinesis: {
      kinesisSchemaVersion: '1.0',
      partitionKey,
      sequenceNumber,
      data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
      approximateArrivalTimestamp: arrivalMs / 1000,
    },
  };
}

/** Records of one shard, in the order in which they came. */
export interface ShardBatch {
  readonly shardId: string;
  readonly records: StreamRecord[];
}

/** A mapping brings one shard at a time; should an event hold several, each is a batch of its own. */
export function shardBatches(event: KinesisEvent): ShardBatch[] {
  const batches = new Map<string, StreamRecord[]>();
  for (const { eventID, kinesis } of event.Records) {
    const shardId = eventID.slice(0, eventID.indexOf(':'));
    let records = batches.get(shardId);
    if (records === undefined) {
      records = [];
      batches.set(shardId, records);
    }
    records.push({
      sequenceNumber: canonicalSequenceNumber(kinesis.sequenceNumber),
      subSequence: 0,
      partitionKey: kinesis.partitionKey,
      arrivalMs: Math.round(kinesis.approximateArrivalTimestamp * 1000),
      data: Buffer.from(kinesis.data, 'base64'),
    });
  }
  return [...batches].map(([shardId, records]) => ({ shardId, records }));
}
