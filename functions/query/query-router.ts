/**
 * Which query a path asks for, and its answer as JSON.
 */

import type { QuarantineList } from '../../core/query/quarantine-list.ts';
import type { Queries } from '../../core/query/queries.ts';
import type { Asked } from '../../core/query/query-problem.ts';
import { badRequest } from '../../core/query/query-problem.ts';
import type { Parameters } from '../../core/query/view-request.ts';

const VIEW_PATH = /^\/v1\/views\/([^/]+)$/;
const PATHS = ['/v1/views', '/v1/views/{view}', '/v1/status', '/v1/quarantine'];

export async function answerQuery(
  queries: Queries,
  method: string,
  path: string,
  parameters: Parameters,
): Promise<Asked<unknown>> {
  if (method !== 'GET')
    return refuse(405, 'Method Not Allowed', 'method-not-allowed', `${path} takes GET.`);
  const view = VIEW_PATH.exec(path)?.[1];
  if (view !== undefined) return queries.view(decodeName(view), parameters);
  if (path === '/v1/quarantine') {
    const list = await queries.quarantine(parameters);
    return list.ok ? { ok: true, value: quarantineJson(list.value) } : list;
  }
  if (path !== '/v1/views' && path !== '/v1/status') {
    return refuse(
      404,
      'Not Found',
      'no-such-path',
      `There is nothing at ${path}; there is ${PATHS.join(', ')}.`,
    );
  }
  const [unknown] = parameters;
  if (unknown !== undefined) {
    const where = { path: unknown[0], expected: 'no parameters', found: unknown[0] };
    const detail = `${path} has no parameter '${unknown[0]}'.`;
    return { ok: false, problem: badRequest('unknown-parameter', detail, where) };
  }
  return { ok: true, value: path === '/v1/views' ? queries.views() : await queries.status() };
}

function refuse(status: 404 | 405, title: string, code: string, detail: string): Asked<never> {
  return { ok: false, problem: { status, title, code, detail } };
}

function quarantineJson({ records, next }: QuarantineList): object {
  return {
    records: records.map((record) => ({
      id: record.id,
      shardId: record.shardId,
      sequenceNumber: record.sequenceNumber,
      subSequence: record.subSequence,
      reason: record.reason,
      detail: record.detail,
      arrival: new Date(record.arrivalMs).toISOString(),
      partitionKey: record.partitionKey,
      data: Buffer.from(record.data).toString('base64'),
    })),
    next,
  };
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
