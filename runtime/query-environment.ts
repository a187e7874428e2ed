/**
 * The thread of the query function's environment: the handler over the data folder's store; and the part of a redrive that
 * reads the quarantine.
 */
import { workerData } from 'node:worker_threads';
import { Queries } from '../core/query/queries.ts';
import { type AskedRedrive, type RedriveSelection, Redrives } from '../core/query/redrive.ts';
import { createQueryHandler, type QueryEvent } from '../functions/query/handler.ts';
import type { EnvironmentData } from './aggregate-environment.ts';
import { serveInvocations } from './invocation.ts';
import { openLocalPorts } from './local-ports.ts';
import { planOf } from './plan-data.ts';

export type RedrivePayload =
  | { readonly redrive: 'ask'; readonly selection: RedriveSelection }
  | { readonly redrive: 'outcome'; readonly asked: AskedRedrive };

const data = workerData as EnvironmentData;
const plan = planOf(data.pipeline);
const ports = await openLocalPorts(data.dataFolder);
const queries = new Queries(plan, ports);
const handler = createQueryHandler(queries);
const redrives = new Redrives(queries, ports);

serveInvocations((payload) => {
  const request = payload as QueryEvent | RedrivePayload;
  if (!('redrive' in request)) return handler(request);
  return request.redrive === 'ask'
    ? redrives.ask(request.selection)
    : redrives.outcome(request.asked);
});
