/**
 * The query function with its log: what it could not answer. A fault becomes an answer that says so, since whoever asked
 * would otherwise hear of an internal error only.
 */
import { METRIC } from '../deployment-contract.ts';
import { problemOfError, problemResult } from '../function-url.ts';
import type { Telemetry } from '../telemetry.ts';
import type { QueryHandler } from './handler.ts';

export function observedQuery(ask: QueryHandler, telemetry: Telemetry): QueryHandler {
  return async (event) => {
    // Names only: values are the caller's.
    const parameters = [...new URLSearchParams(event.rawQueryString).keys()];
    const asked = { path: event.rawPath, parameters };
    try {
      const result = await ask(event);
      if (result.statusCode >= 500)
        telemetry.info('a question was not answered', { ...asked, status: result.statusCode });
      return result;
    } catch (error) {
      telemetry.count(METRIC.otherFaults, 1);
      telemetry.failure('a question failed', error, asked);
      return problemResult(problemOfError(error));
    } finally {
      telemetry.publish();
    }
  };
}
