/**
 * Errors of the HTTP API: application/problem+json with `type, title, status, detail, code` and, where they apply, more.
 */
import { STATUS_CODES } from 'node:http';
import { InvariantFault, LostStateFault, TransientFault } from '../../core/faults.ts';
import type { PortResponse, Refusal } from './route.ts';

/** Where they apply: what was wrong, and what was expected and found there. */
export interface ProblemExtras {
  readonly path?: string;
  readonly expected?: unknown;
  readonly found?: unknown;
  readonly hint?: string;
}

/**
 * `code` is a word in kebab-case that programs may compare; `detail` says to a person what was wrong and what to do.
 */
export function problem(
  status: number,
  code: string,
  detail: string,
  extras: ProblemExtras = {},
): PortResponse {
  return {
    status,
    headers: { 'content-type': 'application/problem+json' },
    body: JSON.stringify({
      type: `urn:tidemark:problem:${code}`,
      title: STATUS_CODES[status] ?? 'Error',
      status,
      detail,
      code,
      ...extras,
    }),
  };
}

/** The refusal that tells a client of an error which a route threw. Only what a fault says of itself goes out. */
export function refusalOfError(error: unknown): Refusal {
  if (error instanceof TransientFault) {
    const hint = error.hint === undefined ? '' : `: ${error.hint}`;
    return { status: 503, code: 'try-again', detail: `${error.message}${hint}` };
  }
  if (error instanceof LostStateFault) {
    const hint = error.hint === undefined ? '' : `: ${error.hint}`;
    return { status: 500, code: 'lost-state', detail: `${error.message}${hint}` };
  }
  const what = error instanceof InvariantFault ? `invariant ${error.invariant} is broken` : 'a bug';
  return {
    status: 500,
    code: 'internal',
    detail: `Tidemark failed to answer (${what}); its output says more.`,
  };
}
