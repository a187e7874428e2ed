/**
 * The query API on the port: each request is an invocation of the query function. A request that waits for a record
 * (`after`) waits here, so that the function is free for others meanwhile.
 */
import type { UrlResult } from '../../functions/function-url.ts';
import type { QueryEvent } from '../../functions/query/handler.ts';
import { askPatiently, type Patience } from '../../functions/query/patient-query.ts';
import { InvocationError } from '../environment-pool.ts';
import { problem } from '../http/problem.ts';
import type { PortRequest, PortResponse, Route } from '../http/route.ts';

export type InvokeQuery = (event: QueryEvent, signal: AbortSignal) => Promise<unknown>;

export type QueryRouteOptions = Omit<Patience, 'isGone'>;

/** A full queue of scans is worked off in about that time. */
const RETRY_AFTER_SECONDS = '2';

const PATHS = ['/v1/views', '/v1/views/{view}', '/v1/status', '/v1/quarantine'];

export function queryRoutes(invoke: InvokeQuery, options: QueryRouteOptions = {}): Route[] {
  return PATHS.map((path) => ({
    method: 'GET',
    path,
    handle: (request) => answer(request, invoke, options),
  }));
}

async function answer(
  { path, query, signal }: PortRequest,
  invoke: InvokeQuery,
  options: QueryRouteOptions,
): Promise<PortResponse> {
  const requestContext = { http: { method: 'GET' } };
  const event = { rawPath: path, rawQueryString: query.toString(), requestContext };
  const ask = (asked: QueryEvent) => invoke(asked, signal) as Promise<UrlResult>;
  try {
    const result = await askPatiently(ask, event, { ...options, isGone: () => signal.aborted });
    return responseOf(result);
  } catch (error) {
    if (error instanceof InvocationError) return noAnswer(error);
    throw error;
  }
}

export function responseOf({ statusCode, headers, body }: UrlResult): PortResponse {
  return { status: statusCode, headers, body };
}

/** The function did not answer at all: what it can tell of a fault, it answers. */
export function noAnswer({ failure }: InvocationError): PortResponse {
  const { name, message, hint } = failure;
  const detail = hint === null ? message : `${message}: ${hint}`;
  if (name === 'OutOfMemory') return problem(503, 'too-much-at-once', detail);
  if (name === 'Overloaded') {
    const { headers, ...rest } = problem(503, 'overloaded', detail);
    return { ...rest, headers: { ...headers, 'retry-after': RETRY_AFTER_SECONDS } };
  }
  const isPassing = ['Timeout', 'Closed', 'Cancelled', 'TransientFault'].includes(name);
  return isPassing ? problem(503, 'try-again', detail) : problem(500, 'internal', detail);
}
