/**
 * `POST /v1/quarantine/purge` on the port: the query function's environment has the quarantine, and deletes there.
 */
import type { PurgeSummary } from '../../core/query/purge.ts';
import { RECORD_CHOICE_EXAMPLE } from '../../core/query/quarantine-body.ts';
import type { Asked } from '../../core/query/query-problem.ts';
import { parseJsonBody } from '../../functions/admin/json-body.ts';
import { answerPurge } from '../../functions/admin/purge-answer.ts';
import { resultOf } from '../../functions/function-url.ts';
import { InvocationError } from '../environment-pool.ts';
import type { PortRequest, PortResponse, Route } from '../http/route.ts';
import type { PurgePayload } from '../query-environment.ts';
import { noAnswer, responseOf } from './query-routes.ts';
import { BODY_BYTES_MAX } from './redrive-route.ts';

/** Asks the query function's environment. */
type Invoke = (payload: PurgePayload) => Promise<unknown>;

/** `zone` is the active pipeline's. */
export function purgeRoute(zone: () => string, invoke: Invoke): Route {
  return {
    method: 'POST',
    path: '/v1/quarantine/purge',
    bodyBytesMax: BODY_BYTES_MAX,
    handle: (request) => answer(request, zone(), invoke),
  };
}

async function answer(
  { body, query }: PortRequest,
  zone: string,
  invoke: Invoke,
): Promise<PortResponse> {
  const json = parseJsonBody(body.toString('utf8'), query, RECORD_CHOICE_EXAMPLE);
  if (!json.ok) return responseOf(resultOf(json));
  try {
    const purge = async (choice: PurgePayload['purge']) =>
      (await invoke({ purge: choice })) as Asked<PurgeSummary>;
    return { ...responseOf(await answerPurge(json.value, zone, purge)), tellsEffect: true };
  } catch (error) {
    if (error instanceof InvocationError) return noAnswer(error);
    throw error;
  }
}
