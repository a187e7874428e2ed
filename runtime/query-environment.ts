/**
 * The thread of the query function's environment: the handler over the data folder's store.
 */
import { workerData } from 'node:worker_threads';
import { Queries } from '../core/query/queries.ts';
import { createQueryHandler, type QueryEvent } from '../functions/query/handler.ts';
import type { EnvironmentData } from './aggregate-environment.ts';
import { serveInvocations } from './invocation.ts';
import { openLocalPorts } from './local-ports.ts';
import { planOf } from './plan-data.ts';

const data = workerData as EnvironmentData;
const handler = createQueryHandler(
  new Queries(planOf(data.pipeline), await openLocalPorts(data.dataFolder)),
);

serveInvocations((payload) => handler(payload as QueryEvent));
