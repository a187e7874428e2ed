/**
 * `POST /v1/checkpoint` on the port: a base of every slice, with at least the records that were acknowledged before.
 */
import {
  answerCheckpoint,
  type CheckpointedSlice,
} from '../../functions/admin/checkpoint-answer.ts';
import { parseJsonBody } from '../../functions/admin/json-body.ts';
import { resultOf } from '../../functions/function-url.ts';
import { InvocationError } from '../environment-pool.ts';
import { problem } from '../http/problem.ts';
import type { PortRequest, PortResponse, Route } from '../http/route.ts';
import { responseOf } from './query-routes.ts';

export function checkpointRoute(checkpoint: () => Promise<CheckpointedSlice[]>): Route {
  return {
    method: 'POST',
    path: '/v1/checkpoint',
    handle: (request) => answer(request, checkpoint),
  };
}

async function answer(
  { body, query }: PortRequest,
  checkpoint: () => Promise<CheckpointedSlice[]>,
): Promise<PortResponse> {
  const json = parseJsonBody(body.toString('utf8'), query, '{}');
  if (!json.ok) return responseOf(resultOf(json));
  try {
    return { ...responseOf(await answerCheckpoint(json.value, checkpoint)), tellsEffect: true };
  } catch (error) {
    if (!(error instanceof InvocationError)) throw error;
    const { message, hint } = error.failure;
    return problem(503, 'no-checkpoint', hint === null ? message : `${message}: ${hint}`);
  }
}
