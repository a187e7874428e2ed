/**
 * The admin function as it is deployed.
 */
import { LambdaClient } from '@aws-sdk/client-lambda';
import { AwsCalls, CLIENT_SETTINGS } from '../../adapters/aws/aws-calls.ts';
import { LambdaFunction } from '../../adapters/aws/lambda/lambda-function.ts';
import { deleteAll } from '../../core/checkpoint/delete-all.ts';
import { parseHead } from '../../core/checkpoint/head.ts';
import { Purges } from '../../core/query/purge.ts';
import { Queries } from '../../core/query/queries.ts';
import { Redrives } from '../../core/query/redrive.ts';
import { activatePlan } from '../../core/task/plan-activation.ts';
import { openAwsPipeline, systemClock } from '../aws-pipeline.ts';
import { loadPlan, required } from '../aws-variables.ts';
import { VARIABLE } from '../deployment-contract.ts';
import type { UrlResult } from '../function-url.ts';
import type { InvocationContext } from '../invocation-context.ts';
import { createTelemetry } from '../powertools-telemetry.ts';
import { type AdminEvent, createAdminHandler } from './handler.ts';
import { putAnswer } from './put-answer.ts';
import { SliceOwners } from './slice-owners.ts';

const plan = loadPlan(import.meta.dirname);
const { ports, assertRecordsFit, deadline } = openAwsPipeline(process.env, 'ask');
const telemetry = createTelemetry(required(process.env, VARIABLE.service));
/** An owner that replays takes as long as it has; it is asked once. */
const patience = { timeLeftMs: deadline.timeLeftMs, attemptsMax: 1, attemptMsMax: 900_000 };
const owners = new SliceOwners({
  aggregate: new LambdaFunction(
    new LambdaClient(CLIENT_SETTINGS),
    required(process.env, VARIABLE.aggregateFunction),
    new AwsCalls(patience),
  ),
  heads: ports.heads,
  telemetry,
});
const queries = new Queries(plan, ports);
const redrives = new Redrives(queries, ports);
const purges = new Purges(queries, ports);

const handle = createAdminHandler({
  zone: plan.zone,
  checkpoint: () => owners.checkpoint(),
  quarantine: (parameters) => queries.quarantine(parameters),
  ask: (choice) => redrives.ask(choice),
  purge: (choice) => purges.purge(choice),
  outcome: (asked) => redrives.outcome(asked),
  tick: (sliceId) => owners.tick(sliceId),
  // Each look asks an owner to begin a request, which may be begun so often only.
  waitStepMs: 2_000,
  emptyBucket: () => deleteAll(ports.blobs.objects),
  activate: async () => {
    await assertRecordsFit();
    const heads = (await ports.heads.listHeads()).map(parseHead);
    const nowMs = systemClock.nowMs();
    const { plans: registry, blobs } = ports;
    return activatePlan(plan, { registry, heads, objects: blobs.objects, nowMs });
  },
  planHash: plan.hash,
  put: putAnswer,
  telemetry,
});

export const handler = (
  event: AdminEvent,
  context: InvocationContext,
): Promise<UrlResult | null> => {
  deadline.follow(context);
  telemetry.follow(context);
  return handle(event);
};
