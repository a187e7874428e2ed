/**
 * Which query a path asks for, and its answer as JSON.
 */
import type { QueryParameters } from '../../core/query/parameter-values.ts';
import type { Queries } from '../../core/query/queries.ts';
import { type Asked, asked, refuseUnknown } from '../../core/query/query-problem.ts';
import { withoutPayloads } from './reader-quarantine.ts';

const VIEW_PATH = /^\/v1\/views\/([^/]+)$/;
const PATHS = ['/v1/views', '/v1/views/{view}', '/v1/pipeline', '/v1/status', '/v1/quarantine'];

/** `payloads`: what producers sent and could not be processed is shown to the caller. */
export interface Showing {
  readonly payloads: boolean;
}

export async function answerQuery(
  queries: Queries,
  showing: Showing,
  method: string,
  path: string,
  parameters: QueryParameters,
): Promise<Asked<unknown>> {
  const view = VIEW_PATH.exec(path)?.[1];
  if (view === undefined && !PATHS.includes(path)) {
    const detail = `There is nothing at ${path}; there is ${PATHS.join(', ')}.`;
    return refused(404, 'Not Found', 'no-such-path', detail);
  }
  if (method !== 'GET' && method !== 'HEAD') {
    const detail = `${path} takes GET, not ${method}.`;
    return refused(405, 'Method Not Allowed', 'method-not-allowed', detail);
  }
  if (view !== undefined) return queries.view(decodeName(view), parameters);
  if (path === '/v1/quarantine') {
    const listed = await queries.quarantine(parameters);
    return listed.ok && !showing.payloads && 'records' in listed.value
      ? { ok: true, value: withoutPayloads(listed.value) }
      : listed;
  }
  const checked = asked(() => {
    for (const [name] of parameters) refuseUnknown(name, []);
    return path === '/v1/pipeline' ? queries.pipeline() : queries.views();
  });
  return path !== '/v1/status' || !checked.ok ? checked : queries.status();
}

function refused(status: 404 | 405, title: string, code: string, detail: string): Asked<never> {
  return { ok: false, problem: { status, title, code, detail } };
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
