/**
 * The query function: a function URL's request in, an answer or a problem out.
 */
import type { Queries } from '../../core/query/queries.ts';
import { answerQuery } from './query-router.ts';

/** A function URL's event (payload format 2.0), as far as it is used. */
export interface QueryEvent {
  readonly rawPath: string;
  readonly rawQueryString: string;
  readonly requestContext: { readonly http: { readonly method: string } };
}

export interface QueryResult {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type QueryHandler = (event: QueryEvent) => Promise<QueryResult>;

export function createQueryHandler(queries: Queries): QueryHandler {
  return async ({ rawPath, rawQueryString, requestContext }) => {
    const parameters = [...new URLSearchParams(rawQueryString)];
    const answer = await answerQuery(queries, requestContext.http.method, rawPath, parameters);
    const type = answer.ok ? 'application/json' : 'application/problem+json';
    return {
      statusCode: answer.ok ? 200 : answer.problem.status,
      headers: { 'content-type': type },
      body: JSON.stringify(answer.ok ? answer.value : problemBody(answer.problem)),
    };
  };
}

function problemBody({ code, ...problem }: { readonly code: string }): object {
  return { type: `urn:tidemark:problem:${code}`, ...problem, code };
}
