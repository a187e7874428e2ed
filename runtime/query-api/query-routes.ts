/**
 * The query API on the port: each request is an invocation of the query function. A request that waits for its own write
 * (`after`) is asked again until its records are in, or the bound is over: the function itself never waits.
 */
import type { QueryEvent, QueryResult } from '../../functions/query/handler.ts';
import { InvocationError } from '../environment-pool.ts';
import { problem } from '../http/problem.ts';
import type { PortRequest, PortResponse, Route } from '../http/route.ts';

export type InvokeQuery = (event: QueryEvent) => Promise<unknown>;

const WAIT_MS_MAX = 10_000;
const WAIT_STEP_MS = 50;
const PATHS = ['/v1/views', '/v1/views/{view}', '/v1/status', '/v1/quarantine'];

export function queryRoutes(invoke: InvokeQuery): Route[] {
  return PATHS.map((path) => ({
    method: 'GET',
    path,
    handle: (request) => answer(request, invoke),
  }));
}

async function answer(request: PortRequest, invoke: InvokeQuery): Promise<PortResponse> {
  const endMs = performance.now() + WAIT_MS_MAX;
  const event: QueryEvent = {
    rawPath: request.path,
    rawQueryString: request.query.toString(),
    requestContext: { http: { method: 'GET' } },
  };
  try {
    for (;;) {
      const { statusCode, headers, body } = (await invoke(event)) as QueryResult;
      const waits = request.query.has('after') && body.includes('"reached":false,');
      if (!waits || request.signal.aborted || performance.now() > endMs) {
        return { status: statusCode, headers, body };
      }
      await new Promise((resolve) => setTimeout(resolve, WAIT_STEP_MS));
    }
  } catch (error) {
    if (error instanceof InvocationError) return failed(error);
    throw error;
  }
}

function failed({ failure }: InvocationError): PortResponse {
  const { name, message, hint } = failure;
  const detail = hint === null ? message : `${message}: ${hint}`;
  if (name === 'CorruptStateFault') return problem(500, 'corrupt-state', detail);
  if (name === 'NewerFormatFault') return problem(500, 'newer-format', detail);
  if (name === 'TransientFault' || name === 'Timeout' || name === 'Closed') {
    return problem(503, 'try-again', detail);
  }
  return problem(500, 'internal', detail);
}
