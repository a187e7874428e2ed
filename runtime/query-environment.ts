/**
 * The thread of the query function's environment: the handler over the data folder's store; the part of a redrive that reads
 * the quarantine; and purges of it. A long read lets the thread's events run in between, and
 * ends once its caller has gone.
 */
import { setImmediate } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { Purges } from '../core/query/purge.ts';
import type { RecordChoice } from '../core/query/quarantine-body.ts';
import { Queries } from '../core/query/queries.ts';
import { type AskedRedrive, Redrives } from '../core/query/redrive.ts';
import { createQueryHandler, type QueryEvent } from '../functions/query/handler.ts';
import type { EnvironmentData } from './aggregate-environment.ts';
import { serveInvocations } from './invocation.ts';
import { openLocalPorts } from './local-ports.ts';
import { planOf } from './plan-data.ts';

export type RedrivePayload =
  | { readonly redrive: 'ask'; readonly choice: RecordChoice }
  | { readonly redrive: 'outcome'; readonly asked: AskedRedrive };

export interface PurgePayload {
  readonly purge: RecordChoice;
}

/** Time that a read takes before it lets other events of the thread run. */
const SLICE_MS = 10;

const data = workerData as EnvironmentData;
const plan = planOf(data.pipeline);
const ports = await openLocalPorts(data.dataFolder);
let signal: AbortSignal | null = null;
let resumedMs = 0;

const pace = {
  async pause(): Promise<void> {
    if (performance.now() - resumedMs < SLICE_MS) return;
    await setImmediate();
    resumedMs = performance.now();
    signal?.throwIfAborted();
  },
};

const queries = new Queries(plan, { ...ports, pace });
const handler = createQueryHandler(queries);
const redrives = new Redrives(queries, ports);
const purges = new Purges(queries, ports);

serveInvocations((payload, context) => {
  signal = context.signal;
  resumedMs = performance.now();
  const request = payload as QueryEvent | RedrivePayload | PurgePayload;
  if ('purge' in request) return purges.purge(request.purge);
  if (!('redrive' in request)) return handler(request);
  return request.redrive === 'ask' ? redrives.ask(request.choice) : redrives.outcome(request.asked);
});
