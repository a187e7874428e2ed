import type { KinesisClient } from '@aws-sdk/client-kinesis';
import { expect, it } from 'vitest';
import { AwsCalls } from '../../../adapters/aws/aws-calls.ts';
import { assertRecordsFit } from '../../../adapters/aws/kinesis/record-size.ts';
import { ARN } from './fake-kinesis.ts';

const streamOf = (summary: object) => ({
  client: { send: async () => ({ StreamDescriptionSummary: summary }) } as unknown as KinesisClient,
  calls: new AwsCalls({ timeLeftMs: () => 10_000 }),
  streamArn: ARN,
});

it('a stream whose records are no larger than what is folded is taken, also one that does not say', async () => {
  await assertRecordsFit(streamOf({}));
  await assertRecordsFit(streamOf({ MaxRecordSizeInKiB: 1_024 }));
});

it('one that takes larger records is refused by name', async () => {
  await expect(assertRecordsFit(streamOf({ MaxRecordSizeInKiB: 10_240 }))).rejects.toMatchObject({
    name: 'ConfigurationFault',
    message: expect.stringContaining('takes records of 10240 KiB, at most 1024'),
  });
});
