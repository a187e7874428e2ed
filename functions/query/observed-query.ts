/**
 * The query function with its log: what it could not answer. A fault becomes an answer that says so, since whoever asked
 * would otherwise hear of an internal error only.
 */
import type { QueryProblem } from '../../core/query/query-problem.ts';
import { METRIC } from '../deployment-contract.ts';
import { problemResult } from '../function-url.ts';
import type { Telemetry } from '../telemetry.ts';
import type { QueryHandler } from './handler.ts';

export function observedQuery(ask: QueryHandler, telemetry: Telemetry): QueryHandler {
  return async (event) => {
    const asked = { path: event.rawPath, query: event.rawQueryString };
    try {
      const result = await ask(event);
      if (result.statusCode >= 500)
        telemetry.info('a question was not answered', { ...asked, result });
      return result;
    } catch (error) {
      telemetry.count(METRIC.faults, 1);
      telemetry.failure('a question failed', error, asked);
      return problemResult(problemOf(error));
    } finally {
      telemetry.publish();
    }
  };
}

function problemOf(error: unknown): QueryProblem {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const detail = `The function could not answer (${message}); its log says more.`;
  return { status: 500, title: 'Internal Server Error', code: 'internal', detail };
}
