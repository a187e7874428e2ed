/**
 * A function's settings, checked: what compose.ts read from the environment, and the plan that came with the code.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parsePlan } from '../core/definition/parse-plan.ts';
import type { Plan } from '../core/definition/plan.ts';
import { formatProblems } from '../core/definition/problem.ts';
import { ConfigurationFault } from '../core/faults.ts';
import { PLAN_FILE, START_AT_HORIZON, VARIABLE } from './deployment-contract.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

/** The variable of this name. Throws `ConfigurationFault` without it. */
export function required(variables: Variables, name: string): string {
  const value = variables[name];
  if (value !== undefined && value !== '') return value;
  throw new ConfigurationFault(`the environment variable ${name} is not set`, {
    hint: 'deploy the function by the TidemarkPipeline construct, which sets it',
  });
}

export function streamArnOf(variables: Variables): string {
  const arn = required(variables, VARIABLE.streamArn);
  if (/^arn:[^:]*:kinesis:[^:]*:[^:]*:stream\/./.test(arn)) return arn;
  throw wrong(VARIABLE.streamArn, 'the ARN of a Kinesis stream', arn);
}

/** Where the pipeline begins: at the oldest record, or at a time in milliseconds. */
export function startOf(variables: Variables): typeof START_AT_HORIZON | number {
  const text = required(variables, VARIABLE.start);
  if (text === START_AT_HORIZON) return text;
  const startMs = Date.parse(text);
  if (Number.isNaN(startMs)) {
    throw wrong(VARIABLE.start, `${START_AT_HORIZON} or a time in ISO 8601`, text);
  }
  return startMs;
}

export function retentionHoursOf(variables: Variables): number {
  const text = required(variables, VARIABLE.retentionHours);
  const hours = Number(text);
  if (hours >= 24) return hours;
  throw wrong(VARIABLE.retentionHours, 'hours, 24 or more', text);
}

/** The plan that lies beside the code, in `folder`. */
export function loadPlan(folder: string): Plan {
  const path = join(folder, PLAN_FILE);
  const parsed = parsePlan(JSON.parse(readFileSync(path, 'utf8')));
  if (parsed.ok) return parsed.plan;
  throw new ConfigurationFault(formatProblems(PLAN_FILE, parsed.problems), {
    hint: 'deploy again: code and plan are of different versions',
  });
}

function wrong(name: string, expected: string, found: string): ConfigurationFault {
  return new ConfigurationFault(`${name} is '${found}', expected ${expected}`, {
    hint: 'deploy the function by the TidemarkPipeline construct, which sets it',
  });
}
