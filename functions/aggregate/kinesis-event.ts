/**
 * The event that Lambda's event source mapping for Kinesis brings, and its records as the core takes them.
 */
import type { StreamRecord } from '../../core/ports.ts';

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
      sequenceNumber: kinesis.sequenceNumber,
      subSequence: 0,
      partitionKey: kinesis.partitionKey,
      arrivalMs: Math.round(kinesis.approximateArrivalTimestamp * 1000),
      data: Buffer.from(kinesis.data, 'base64'),
    });
  }
  return [...batches].map(([shardId, records]) => ({ shardId, records }));
}
