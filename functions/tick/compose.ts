/**
 * The tick function as it is deployed.
 */
import { LambdaClient } from '@aws-sdk/client-lambda';
import { AwsCalls, CLIENT_SETTINGS } from '../../adapters/aws/aws-calls.ts';
import { LambdaFunction } from '../../adapters/aws/lambda/lambda-function.ts';
import { behind } from '../../core/query/status.ts';
import { openAwsPipeline, systemClock } from '../aws-pipeline.ts';
import { required } from '../aws-variables.ts';
import { VARIABLE } from '../deployment-contract.ts';
import type { InvocationContext } from '../invocation-context.ts';
import { createTelemetry } from '../powertools-telemetry.ts';
import { createTickHandler } from './handler.ts';

const { ports, shards, tips, ages, deadline } = openAwsPipeline(process.env, 'ask');
const telemetry = createTelemetry(required(process.env, VARIABLE.service));
const aggregate = new LambdaFunction(
  new LambdaClient(CLIENT_SETTINGS),
  required(process.env, VARIABLE.aggregateFunction),
  new AwsCalls({ timeLeftMs: deadline.timeLeftMs }),
);

const handle = createTickHandler({
  heads: ports.heads,
  shards: () => shards.list(),
  tick: (shardId) => aggregate.start({ tidemark: 'tick', shardId }),
  observeTip: async (shardId, delivered) => {
    const observation = await tips.observe(shardId, delivered);
    if (observation === 'trimmed') {
      telemetry.info('it can no longer be proved that no record is missing', {
        shardId,
        delivered,
      });
    }
  },
  behindMs: (head) => behind(head, ports.source, systemClock),
  ages,
  clock: systemClock,
  telemetry,
});

export const handler = (_: unknown, context: InvocationContext): Promise<void> => {
  deadline.follow(context);
  telemetry.follow(context);
  return handle();
};
