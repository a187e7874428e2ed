/**
 * A function URL's request (payload format 2.0), as far as it is used, and its answer: JSON, or a problem.
 */
import type { Asked, QueryProblem } from '../core/query/query-problem.ts';

export interface UrlEvent {
  readonly rawPath: string;
  readonly rawQueryString: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly isBase64Encoded?: boolean;
  readonly requestContext: {
    readonly http: { readonly method: string };
    /** Of a call that was signed. */
    readonly authorizer?: { readonly iam?: { readonly userArn?: string } };
  };
}

export interface UrlResult {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function resultOf(answer: Asked<unknown>, statusCode = 200): UrlResult {
  if (!answer.ok) return problemResult(answer.problem);
  const headers = { 'content-type': 'application/json' };
  return { statusCode, headers, body: JSON.stringify(answer.value) };
}

export function problemResult({ code, ...problem }: QueryProblem): UrlResult {
  return {
    statusCode: problem.status,
    headers: { 'content-type': 'application/problem+json' },
    body: JSON.stringify({ type: `urn:tidemark:problem:${code}`, ...problem, code }),
  };
}

/** The request's body as text; empty if it has none. */
export function bodyText({ body = '', isBase64Encoded = false }: UrlEvent): string {
  return isBase64Encoded ? Buffer.from(body, 'base64').toString('utf8') : body;
}

/** Faults that pass, and those of an owner that could not now. */
const LATER = ['TransientFault', 'BehindFault', 'HeldFault', 'TooManyRequestsException'];

/** What a function that could not answer tells the caller. */
export function problemOfError(error: unknown): QueryProblem {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const hint = error instanceof Error && 'hint' in error && error.hint ? `: ${error.hint}` : '';
  const detail = `${name}: ${message}${hint}`;
  if (LATER.includes(name)) {
    return { status: 503, title: 'Service Unavailable', code: 'try-again', detail };
  }
  return { status: 500, title: 'Internal Server Error', code: 'internal', detail };
}
