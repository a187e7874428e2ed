/**
 * A plan as it passes between threads: as the JSON of its pipeline, validated again where it arrives.
 */
import { assert } from '../core/assert.ts';
import { parsePlan } from '../core/definition/parse-plan.ts';
import type { PipelineJson } from '../core/definition/pipeline-json.ts';
import type { Plan } from '../core/definition/plan.ts';

export function planOf(pipeline: PipelineJson): Plan {
  const parsed = parsePlan(pipeline);
  assert(parsed.ok, 'a-validated-pipeline-parses-again');
  return parsed.plan;
}
