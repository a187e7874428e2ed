/**
 * `POST /v1/checkpoint`: a base of every slice, with at least the records that were acknowledged before.
 */
import { InvocationError } from '../environment-pool.ts';
import { problem } from '../http/problem.ts';
import { json, type PortRequest, type PortResponse, type Route } from '../http/route.ts';
import { readJsonBody } from './json-body.ts';

export interface CheckpointedSlice {
  readonly id: string;
  readonly shardId: string;
  readonly epoch: number;
}

export function checkpointRoute(checkpoint: () => Promise<CheckpointedSlice[]>): Route {
  return {
    method: 'POST',
    path: '/v1/checkpoint',
    handle: (request) => answer(request, checkpoint),
  };
}

async function answer(
  request: PortRequest,
  checkpoint: () => Promise<CheckpointedSlice[]>,
): Promise<PortResponse> {
  const body = readJsonBody(request, '{}');
  if (!body.ok) return body.response;
  if (!isEmptyObject(body.value)) {
    // There is nothing to choose yet, and what is not known is not ignored.
    const found = request.body.toString('utf8').slice(0, 40);
    const extras = { expected: '{}', found };
    return problem(400, 'unknown-member', 'The body has to be an empty object.', extras);
  }
  try {
    return json({ slices: await checkpoint() });
  } catch (error) {
    if (!(error instanceof InvocationError)) throw error;
    const { message, hint } = error.failure;
    return problem(503, 'no-checkpoint', hint === null ? message : `${message}: ${hint}`);
  }
}

function isEmptyObject(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).length === 0
  );
}
