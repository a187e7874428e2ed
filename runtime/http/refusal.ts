/**
 * How the port says that it does not serve a request.
 */
import { unreachable } from '../../core/assert.ts';
import { problem } from './problem.ts';
import type { BodyRead } from './request-body.ts';
import type { PortResponse, Refusal, Route } from './route.ts';

const BUSY = { status: 503, code: 'try-again', retryAfterSeconds: 1 } as const;

/** Why an answer is not sent, although there is one. */
export const UNREAD_ANSWERS: Refusal = {
  ...BUSY,
  detail:
    'Clients have asked for more than they read, and their answers fill the memory that answers may take: send this request again a little later.',
};

/** Why a body was not read. */
export function bodyRefusal(
  outcome: Exclude<BodyRead['outcome'], 'read' | 'gone'>,
  bytesMax: number,
): Refusal {
  switch (outcome) {
    case 'too-large': {
      const detail = `The body is larger than the ${bytesMax} bytes that are taken here.`;
      return { status: 413, code: 'body-too-large', detail };
    }
    case 'too-slow':
      return { status: 408, code: 'body-too-slow', detail: 'The body did not arrive in time.' };
    case 'overloaded': {
      const detail = 'Too many large requests at once: send this one again a little later.';
      return { ...BUSY, detail };
    }
    default:
      return unreachable(outcome);
  }
}

/** In the words of the route that it is for, if it has any. */
export function worded(route: Route | null, refusal: Refusal): PortResponse {
  const { status, code, detail, retryAfterSeconds } = refusal;
  const answer = route?.refuse?.(refusal) ?? problem(status, code, detail);
  if (retryAfterSeconds === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfterSeconds) } };
}

/** The path is there, but takes other methods. */
export function notAllowed(method: string, path: string, allow: readonly string[]): PortResponse {
  const detail = `${path} takes ${allow.join(', ')}, not ${method}.`;
  const answer = problem(405, 'method-not-allowed', detail);
  return { ...answer, headers: { ...answer.headers, allow: allow.join(', ') } };
}
