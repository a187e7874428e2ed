/**
 * Records of a shard as the event that Lambda's mapping brings.
 */
import type { StreamRecord } from '../core/ports.ts';
import type { KinesisEvent } from '../functions/aggregate/kinesis-event.ts';

const REGION = 'us-east-1';

export function kinesisBatch(
  stream: string,
  shardId: string,
  records: readonly StreamRecord[],
): KinesisEvent {
  const event = {
    eventName: 'aws:kinesis:record',
    eventVersion: '1.0',
    eventSource: 'aws:kinesis',
    eventSourceARN: `arn:aws:kinesis:${REGION}:000000000000:stream/${stream}`,
    awsRegion: REGION,
    invokeIdentityArn: 'arn:aws:iam::000000000000:role/simulated',
  } as const;
  return {
    Records: records.map(({ sequenceNumber, partitionKey, arrivalMs, data }) => ({
      ...event,
      eventID: `${shardId}:${sequenceNumber}`,
      kinesis: {
        kinesisSchemaVersion: '1.0',
        partitionKey,
        sequenceNumber,
        data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
        approximateArrivalTimestamp: arrivalMs / 1000,
      },
    })),
  };
}
