/**
 * Why a query is not answered: what application/problem+json says. `code` is for programs, `detail` for people.
 */
export interface QueryProblem {
  readonly status: 400 | 404 | 405 | 410 | 503;
  readonly title: string;
  readonly code: string;
  readonly detail: string;
  /** The parameter that was wrong. */
  readonly path?: string;
  readonly expected?: string;
  readonly found?: string;
}

export type Asked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: QueryProblem };

export function badRequest(
  code: string,
  detail: string,
  where: Pick<QueryProblem, 'path' | 'expected' | 'found'> = {},
): QueryProblem {
  return { status: 400, title: 'Bad Request', code, detail, ...where };
}
