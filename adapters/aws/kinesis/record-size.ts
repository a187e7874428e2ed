/**
 * How large a record of the stream may be: by its own setting, which can be raised there at any time.
 */
import { DescribeStreamSummaryCommand, type KinesisClient } from '@aws-sdk/client-kinesis';
import { ConfigurationFault } from '../../../core/faults.ts';
import { RECORD_BYTES_MAX } from '../../../core/limits.ts';
import type { AwsCalls } from '../aws-calls.ts';

const KIB_MAX = RECORD_BYTES_MAX / 1024;

/** Throws `ConfigurationFault` if the stream takes records that cannot be folded. */
export async function assertRecordsFit(stream: {
  readonly client: KinesisClient;
  readonly calls: AwsCalls;
  readonly streamArn: string;
}): Promise<void> {
  const { client, calls, streamArn } = stream;
  const command = new DescribeStreamSummaryCommand({ StreamARN: streamArn });
  const { StreamDescriptionSummary: summary } = await calls.send(
    `describe ${streamArn}`,
    (abortSignal) => client.send(command, { abortSignal }),
  );
  const kib = summary?.MaxRecordSizeInKiB ?? KIB_MAX;
  if (kib <= KIB_MAX) return;
  throw new ConfigurationFault(
    `${streamArn} takes records of ${kib} KiB, at most ${KIB_MAX} can be folded`,
    {
      hint: `set its MaxRecordSizeInKiB to ${KIB_MAX} (aws kinesis update-max-record-size), or put what is larger into S3 and its key into the record`,
    },
  );
}
