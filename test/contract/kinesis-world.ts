/** The Kinesis adapter over an endpoint: what a contract test connects to, and the slices' side of it. */
import type { KinesisClient } from '@aws-sdk/client-kinesis';
import { AwsCalls } from '../../adapters/aws/aws-calls.ts';
import { KinesisPages } from '../../adapters/aws/kinesis/kinesis-pages.ts';
import { KinesisRecordSource } from '../../adapters/aws/kinesis/kinesis-record-source.ts';
import { KinesisShardDirectory } from '../../adapters/aws/kinesis/kinesis-shard-directory.ts';
import { KinesisTips } from '../../adapters/aws/kinesis/kinesis-tips.ts';
import { ShardList } from '../../adapters/aws/kinesis/shard-list.ts';
import { StreamSummary } from '../../adapters/aws/kinesis/stream-summary.ts';
import type { TipMarks } from '../../adapters/aws/kinesis/tip-marks.ts';
import { STREAM_ID } from '../../adapters/memory/memory-ports.ts';

export const REGION = 'us-east-1';

const timeLeftMs = () => 60_000;

export interface KinesisPlace {
  readonly client: KinesisClient;
  readonly streamName: string;
  readonly marks: TipMarks;
  readonly clock: { nowMs(): number };
  /** Shards in one page of their list. */
  readonly shardsPerPage: number;
}

/** The adapter as a new environment has it. */
export function connectKinesis(
  { client, streamName, marks, clock, shardsPerPage }: KinesisPlace,
  summary: Pick<StreamSummary, 'streamId'> = { streamId: async () => STREAM_ID },
) {
  const calls = new AwsCalls({ timeLeftMs });
  const streamArn = arnOf(streamName);
  const shards = new ShardList({ client, calls, streamArn, pageMax: shardsPerPage });
  const pages = new KinesisPages({
    client,
    calls,
    streamArn,
    shards,
    start: 'TRIM_HORIZON',
    clock,
  });
  const kept = { marks, retention: { hours: async () => 24 }, clock };
  const source = new KinesisRecordSource({ ...kept, pages, timeLeftMs, pauseMs: 20 });
  const tips = new KinesisTips({ ...kept, source });
  return {
    shards,
    source,
    tips,
    directory: new KinesisShardDirectory({ shards, tips, summary, clock }),
  };
}

/** What the endpoint itself says of the stream. */
export function summaryOf({ client, streamName, clock }: KinesisPlace): StreamSummary {
  const calls = new AwsCalls({ timeLeftMs });
  return new StreamSummary({ client, calls, streamArn: arnOf(streamName), hoursMax: 24, clock });
}

function arnOf(streamName: string): string {
  return `arn:aws:kinesis:${REGION}:000000000000:stream/${streamName}`;
}
