/**
 * The query function: a function URL's request in, an answer or a problem out.
 */
import type { Queries } from '../../core/query/queries.ts';
import { resultOf, type UrlEvent, type UrlResult } from '../function-url.ts';
import { answerQuery, type Showing } from './query-router.ts';

export type QueryEvent = Pick<UrlEvent, 'rawPath' | 'rawQueryString' | 'requestContext'>;

export type QueryHandler = (event: QueryEvent) => Promise<UrlResult>;

/** Shows everything, unless told otherwise: on one machine readers are those who run the pipeline. */
export function createQueryHandler(
  queries: Queries,
  showing: Showing = { payloads: true },
): QueryHandler {
  return async ({ rawPath, rawQueryString, requestContext }) => {
    const parameters = [...new URLSearchParams(rawQueryString)];
    return resultOf(
      await answerQuery(queries, showing, requestContext.http.method, rawPath, parameters),
    );
  };
}
