/**
 * `POST /v1/checkpoint`: a base of every slice, with at least the records that were acknowledged before.
 */
import { InvocationError } from '../environment-pool.ts';
import { problem } from '../http/problem.ts';
import { json, type PortRequest, type PortResponse, type Route } from '../http/route.ts';

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
  { body, query }: PortRequest,
  checkpoint: () => Promise<CheckpointedSlice[]>,
): Promise<PortResponse> {
  const refused = refuse(body, query);
  if (refused !== null) return refused;
  try {
    return json({ slices: await checkpoint() });
  } catch (error) {
    if (!(error instanceof InvocationError)) throw error;
    const { message, hint } = error.failure;
    return problem(503, 'no-checkpoint', hint === null ? message : `${message}: ${hint}`);
  }
}

/** The body is `{}`: there is nothing to choose yet, and what is not known is not ignored. */
function refuse(body: Buffer, query: URLSearchParams): PortResponse | null {
  const [parameter] = query.keys();
  if (parameter !== undefined) {
    const extras = { path: parameter, expected: 'no parameters', found: parameter };
    return problem(400, 'unknown-parameter', `There is no parameter '${parameter}'.`, extras);
  }
  const text = body.toString('utf8');
  let value: unknown;
  try {
    value = text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    return problem(400, 'not-json', 'The body is not JSON.', {
      expected: '{}',
      found: text.slice(0, 40),
    });
  }
  const isEmpty =
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).length === 0;
  if (isEmpty) return null;
  return problem(400, 'unknown-member', 'The body has to be an empty object.', {
    expected: '{}',
    found: text.slice(0, 40),
  });
}
