/**
 * The query API on the port: each request is an invocation of the query function. Whoever waits for a record (`after`)
 * waits here, on what HEADs say, so that the function is free for others meanwhile; then it is asked again.
 */

import { compareSequenceNumbers } from '../../core/position.ts';
import { readRecordAddress } from '../../core/query/parameter-values.ts';
import type { PipelineStatus } from '../../core/query/status.ts';
import type { QueryEvent, QueryResult } from '../../functions/query/handler.ts';
import { InvocationError } from '../environment-pool.ts';
import { problem } from '../http/problem.ts';
import type { PortRequest, PortResponse, Route } from '../http/route.ts';

export type InvokeQuery = (event: QueryEvent) => Promise<unknown>;

export interface QueryRouteOptions {
  /** How long a request waits for the records of `after`, and between two looks. */
  readonly waitMsMax?: number;
  readonly waitStepMs?: number;
}

const WAIT_MS_MAX = 10_000;
const WAIT_STEP_MS = 50;
const PATHS = ['/v1/views', '/v1/views/{view}', '/v1/status', '/v1/quarantine'];

export function queryRoutes(invoke: InvokeQuery, options: QueryRouteOptions = {}): Route[] {
  return PATHS.map((path) => ({
    method: 'GET',
    path,
    handle: (request) => answer(request, invoke, options),
  }));
}

async function answer(
  request: PortRequest,
  invoke: InvokeQuery,
  options: QueryRouteOptions,
): Promise<PortResponse> {
  const ask = () => call(invoke, request.path, request.query.toString());
  try {
    const first = await ask();
    // A snapshot that `next` pins never reaches what it has not.
    const waits = hasNotReached(first) && !request.query.has('next');
    if (!waits) return responseOf(first);
    await waitFor(request, invoke, options);
    return responseOf(await ask());
  } catch (error) {
    if (error instanceof InvocationError) return noAnswer(error);
    throw error;
  }
}

/** Until the records of `after` are in, time is over, or nobody waits any more. */
async function waitFor(
  { query, signal }: PortRequest,
  invoke: InvokeQuery,
  { waitMsMax = WAIT_MS_MAX, waitStepMs = WAIT_STEP_MS }: QueryRouteOptions,
): Promise<void> {
  const after = query.getAll('after').map(readRecordAddress);
  const endMs = performance.now() + waitMsMax;
  while (!signal.aborted && performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, waitStepMs));
    const { statusCode, body } = await call(invoke, '/v1/status', '');
    if (statusCode !== 200) return;
    const { slices } = JSON.parse(body) as PipelineStatus;
    const cursorOf = new Map(slices.map(({ shardId, cursor }) => [shardId, cursor]));
    // Nobody knows such a shard: its record will not come.
    if (!after.every(({ shardId }) => cursorOf.has(shardId))) return;
    const reached = after.every(({ shardId, sequenceNumber }) => {
      return compareSequenceNumbers(cursorOf.get(shardId) ?? '0', sequenceNumber) >= 0;
    });
    if (reached) return;
  }
}

function call(invoke: InvokeQuery, rawPath: string, rawQueryString: string): Promise<QueryResult> {
  const requestContext = { http: { method: 'GET' } };
  return invoke({ rawPath, rawQueryString, requestContext }) as Promise<QueryResult>;
}

// What stands before the rows is ours: a row's own field may have any name.
function hasNotReached({ body }: QueryResult): boolean {
  return body.slice(0, body.indexOf('"rows":')).includes('"reached":false,');
}

function responseOf({ statusCode, headers, body }: QueryResult): PortResponse {
  return { status: statusCode, headers, body };
}

/** The function did not answer at all: what it can tell of a fault, it answers. */
export function noAnswer({ failure }: InvocationError): PortResponse {
  const { name, message, hint } = failure;
  const detail = hint === null ? message : `${message}: ${hint}`;
  if (name === 'OutOfMemory') return problem(503, 'too-much-at-once', detail);
  const isPassing = ['Timeout', 'Closed', 'TransientFault'].includes(name);
  return isPassing ? problem(503, 'try-again', detail) : problem(500, 'internal', detail);
}
