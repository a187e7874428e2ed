/**
 * The query API on the port: each request is an invocation of the query function. A request that waits for a record
 * (`after`) waits here, so that the function is free for others meanwhile.
 */
import type { PathHint } from '../../core/decode/path-sample.ts';
import type { UrlResult } from '../../functions/function-url.ts';
import type { QueryEvent } from '../../functions/query/handler.ts';
import { askPatiently, type Patience } from '../../functions/query/patient-query.ts';
import { InvocationError } from '../environment-pool.ts';
import { problem } from '../http/problem.ts';
import type { PortRequest, PortResponse, Route } from '../http/route.ts';

export type InvokeQuery = (event: QueryEvent, signal: AbortSignal) => Promise<unknown>;

export interface QueryRouteOptions extends Omit<Patience, 'isGone'> {
  /** What the status says of paths of the plan that found nothing in the first records. */
  readonly hints?: () => readonly PathHint[];
}

/** A full queue of scans is worked off in about that time. */
const RETRY_AFTER_SECONDS = '2';
const STATUS_PATH = '/v1/status';
const PATHS = ['/v1/views', '/v1/views/{view}', '/v1/pipeline', STATUS_PATH, '/v1/quarantine'];

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
  { hints, ...options }: QueryRouteOptions,
): Promise<PortResponse> {
  const requestContext = { http: { method: 'GET' } };
  const event = { rawPath: path, rawQueryString: query.toString(), requestContext };
  const ask = (asked: QueryEvent) => invoke(asked, signal) as Promise<UrlResult>;
  try {
    const result = await askPatiently(ask, event, { ...options, isGone: () => signal.aborted });
    return responseOf(path === STATUS_PATH ? withHints(result, hints?.() ?? []) : result);
  } catch (error) {
    if (error instanceof InvocationError) return noAnswer(error);
    throw error;
  }
}

/** The function has no records to look at: the port has seen them. */
function withHints(result: UrlResult, hints: readonly PathHint[]): UrlResult {
  if (result.statusCode !== 200 || hints.length === 0) return result;
  const status = JSON.parse(result.body) as object;
  return { ...result, body: JSON.stringify({ ...status, hints }) };
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
