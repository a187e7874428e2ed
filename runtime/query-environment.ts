/**
 * The thread of the query function's environment: the handler over the data folder's store; and the part of a redrive that
 * reads the quarantine.
 */
import { workerData } from 'node:worker_threads';
import { Queries } from '../core/query/queries.ts';
import { type Asked, problemOfFault } from '../core/query/query-problem.ts';
import { type AskedRedrive, parseRedrive, Redrives } from '../core/query/redrive.ts';
import { createQueryHandler, type QueryEvent } from '../functions/query/handler.ts';
import type { EnvironmentData } from './aggregate-environment.ts';
import { serveInvocations } from './invocation.ts';
import { openLocalPorts } from './local-ports.ts';
import { planOf } from './plan-data.ts';

export type RedrivePayload =
  | { readonly redrive: 'ask'; readonly body: unknown }
  | { readonly redrive: 'outcome'; readonly asked: AskedRedrive };

const data = workerData as EnvironmentData;
const plan = planOf(data.pipeline);
const ports = await openLocalPorts(data.dataFolder);
const handler = createQueryHandler(new Queries(plan, ports));
const redrives = new Redrives(plan, ports);

serveInvocations((payload) => {
  const request = payload as QueryEvent | RedrivePayload;
  if (!('redrive' in request)) return handler(request);
  return request.redrive === 'ask' ? ask(request.body) : redrives.outcome(request.asked);
});

async function ask(body: unknown): Promise<Asked<AskedRedrive>> {
  const selection = parseRedrive(body);
  if (!selection.ok) return selection;
  try {
    return { ok: true, value: await redrives.ask(selection.value) };
  } catch (fault) {
    const problem = problemOfFault(fault);
    if (problem === null) throw fault;
    return { ok: false, problem };
  }
}
