/**
 * The heartbeat function as it is deployed.
 */
import { AwsCalls } from '../../adapters/aws/aws-calls.ts';
import { HeartbeatWriter } from '../../adapters/aws/kinesis/heartbeat-writer.ts';
import { openKinesis } from '../aws-pipeline.ts';
import { required } from '../aws-variables.ts';
import { Deadline } from '../deadline.ts';
import { VARIABLE } from '../deployment-contract.ts';
import type { InvocationContext } from '../invocation-context.ts';
import { createTelemetry } from '../powertools-telemetry.ts';
import { createHeartbeatHandler } from './handler.ts';

const deadline = new Deadline();
const calls = new AwsCalls({ timeLeftMs: deadline.timeLeftMs });
const { client, streamArn, shards } = openKinesis(process.env, calls);
const writer = new HeartbeatWriter({ client, streamArn, calls });

const telemetry = createTelemetry(required(process.env, VARIABLE.service));

const handle = createHeartbeatHandler({
  openRanges: async () =>
    (await shards.list()).filter(({ isOpen }) => isOpen).map(({ range }) => range),
  put: (entries) => writer.put(entries),
  telemetry,
});

export const handler = (_: unknown, context: InvocationContext): Promise<void> => {
  deadline.follow(context);
  telemetry.follow(context);
  return handle();
};
