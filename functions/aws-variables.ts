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

/** A year, which is what a stream keeps at most. */
const RETENTION_HOURS_MAX = 8760;
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

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
  const startMs = ISO_TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(startMs)) {
    throw wrong(VARIABLE.start, `${START_AT_HORIZON} or a time in ISO 8601`, text);
  }
  return startMs;
}

export function retentionHoursOf(variables: Variables): number {
  const text = required(variables, VARIABLE.retentionHours);
  const hours = Number(text);
  if (hours >= 24 && hours <= RETENTION_HOURS_MAX) return hours;
  throw wrong(VARIABLE.retentionHours, 'hours, from 24 to 8760', text);
}

/** The plan that lies beside the code, in `folder`. */
export function loadPlan(folder: string): Plan {
  const parsed = parsePlan(readJson(join(folder, PLAN_FILE)));
  if (parsed.ok) return parsed.plan;
  throw new ConfigurationFault(formatProblems(PLAN_FILE, parsed.problems), {
    hint: 'deploy again: code and plan are of different versions',
  });
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigurationFault(
      `the plan that was deployed with this code cannot be read: ${why}`,
      {
        hint: `deploy again: ${PLAN_FILE} is missing or damaged`,
        cause,
      },
    );
  }
}

function wrong(name: string, expected: string, found: string): ConfigurationFault {
  return new ConfigurationFault(`${name} is '${found}', expected ${expected}`, {
    hint: 'deploy the function by the TidemarkPipeline construct, which sets it',
  });
}
