/**
 * The typed builder for `tidemark.config.ts`. It returns exactly the JSON of pipeline-json.ts, so a pipeline written in
 * TypeScript and one written in JSON are the same thing; nothing is checked here that `parsePlan` does not check.
 */
import type {
  AggregateJson,
  Duration,
  PipelineJson,
  ViewJson,
  WindowJson,
} from './pipeline-json.ts';

/** A pipeline: where records come from, how their time is read, and the views kept of them. */
export function pipeline(definition: PipelineJson): PipelineJson {
  return definition;
}

/** Group by, window and aggregates over the records of one category, or of all. */
export function view(definition: ViewJson): ViewJson {
  return definition;
}

/** Windows of one size, end to end. `tumbling('1d')` is a day of the pipeline's zone, `tumbling('24h')` is not. */
export function tumbling(size: Duration): WindowJson {
  return { tumbling: size };
}

/** The number of records; with a field, of those where it is neither absent nor null. */
export function count(field = '*'): AggregateJson {
  return { count: field };
}

/** The sum of a field: exact, and rounded once. A row names it under `inexact` where it is beyond 2^53 and needed rounding. */
export function sum(field: string): AggregateJson {
  return { sum: field };
}

/** The smallest value of a field. */
export function min(field: string): AggregateJson {
  return { min: field };
}

/** The largest value of a field. */
export function max(field: string): AggregateJson {
  return { max: field };
}

/** The arithmetic mean of a field. */
export function mean(field: string): AggregateJson {
  return { mean: field };
}

/** The values of a field at `ranks` from 0 to 1, within 1 %: `quantile('delay', [0.5, 0.99])`. */
export function quantile(field: string, ranks: readonly number[]): AggregateJson {
  return { quantile: field, at: [...ranks] };
}
