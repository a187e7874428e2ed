/**
 * The query function as it is deployed.
 */
import { parseHead } from '../../core/checkpoint/head.ts';
import { Queries } from '../../core/query/queries.ts';
import { openAwsPipeline } from '../aws-pipeline.ts';
import { loadPlan, required } from '../aws-variables.ts';
import { VARIABLE } from '../deployment-contract.ts';
import type { UrlResult } from '../function-url.ts';
import type { InvocationContext } from '../invocation-context.ts';
import { createTelemetry } from '../powertools-telemetry.ts';
import { createQueryHandler, type QueryEvent } from './handler.ts';
import { observedQuery } from './observed-query.ts';
import { askPatiently } from './patient-query.ts';

const plan = loadPlan(import.meta.dirname);
const { ports, ages, deadline } = openAwsPipeline(process.env, 'ask');
const ask = createQueryHandler(new Queries(plan, { ...ports, ages }), { payloads: false });
/** HEADs alone: a status would ask the stream, which gives each shard's readers five answers a second together. */
const cursors = async () => {
  const heads = (await ports.heads.listHeads()).map(parseHead);
  return new Map(heads.map(({ shardId, cursor }) => [shardId, cursor.sequenceNumber]));
};
const patience = { waitStepMs: 250, cursors };
const telemetry = createTelemetry(required(process.env, VARIABLE.service));
const handle = observedQuery((event) => askPatiently(ask, event, patience), telemetry);

export const handler = (event: QueryEvent, context: InvocationContext): Promise<UrlResult> => {
  deadline.follow(context);
  telemetry.follow(context);
  return handle(event);
};
