/**
 * The typed builder for `tidemark.config.ts`. It returns exactly the JSON of pipeline-json.ts, so a pipeline written in
 * TypeScript and one written in JSON are the same thing; nothing is checked here that `parsePlan` does not check.
 * Windows and aggregates are built in the files of their kinds.
 */
import type { PipelineJson, ViewJson } from './pipeline-json.ts';

/** A pipeline: where records come from, how their time is read, and the views kept of them. */
export function pipeline(definition: PipelineJson): PipelineJson {
  return definition;
}

/** Group by, window and aggregates over the records of one category, or of all. */
export function view(definition: ViewJson): ViewJson {
  return definition;
}
