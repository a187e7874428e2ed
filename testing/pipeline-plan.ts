/**
 * From what a test holds of a pipeline, the builder's object or JSON, to its plan.
 */
import { parsePlan } from '../core/definition/parse-plan.ts';
import type { PipelineJson } from '../core/definition/pipeline-json.ts';
import { parsePipelineText } from '../core/definition/pipeline-text.ts';
import type { Plan } from '../core/definition/plan.ts';
import { formatProblems, type Problem } from '../core/definition/problem.ts';

/** What `pipeline({…})` returns, the same as JSON (an object or text), or a plan. */
export type PipelineInput = PipelineJson | Plan | string;

/** The pipeline is wrong; the message says where, as `tidemark check` does. */
export class InvalidPipeline extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(formatProblems('the pipeline', problems));
    this.name = 'InvalidPipeline';
    this.problems = problems;
  }
}

export function planOfPipeline(input: PipelineInput): Plan {
  if (isPlan(input)) return input;
  const parsed = typeof input === 'string' ? parsePipelineText(input) : parsePlan(input);
  if (parsed.ok) return parsed.plan;
  throw new InvalidPipeline(parsed.problems);
}

function isPlan(input: PipelineInput): input is Plan {
  return typeof input === 'object' && 'hash' in input && Array.isArray(input.views);
}
