/**
 * What a change to a plan would cost a data folder that runs by another one, said before it is done.
 */
import { parsePlan } from '../core/definition/parse-plan.ts';
import type { Plan } from '../core/definition/plan.ts';
import { describeDifference } from '../core/definition/plan-difference.ts';
import { planToJson } from '../core/definition/plan-json.ts';
import {
  describeFate,
  describePolicies,
  type ViewFate,
  viewFates,
} from '../core/definition/view-fate.ts';
import { describeEndedRollbacks, isRollback, rollbacksEndedBy } from '../core/task/kept-plans.ts';
import { readActivePlan, readHeads } from './active-plan.ts';

type PlanComparison =
  | { readonly failure: string }
  /** `dev` does not run the plan on this folder. */
  | { readonly refusal: string }
  | {
      readonly activePlan: { readonly ordinal: number; readonly hash: string };
      readonly differences: readonly string[];
      readonly views: readonly ViewFate[];
      readonly policies: readonly string[];
      /** As of `PlanChange`. */
      readonly endedRollbacks: readonly string[];
    };

/** What differs from the plan that the folder runs by, and what that costs; `failure` where it cannot be read, `refusal` where it is another pipeline's. Null where the folder has no plan yet, or runs by this one. */
export function compareWithActive(
  plan: Plan,
  dataFolder: string,
  nowMs: number,
): PlanComparison | null {
  try {
    const active = readActivePlan(dataFolder);
    if (active === null || active.hash === plan.hash) return null;
    const { ordinal, hash, pipeline } = active;
    const before = parsePlan(JSON.parse(pipeline));
    if (!before.ok) return { failure: 'this version of tidemark cannot read its active plan' };
    const [was, is] = [before.plan, plan].map(
      ({ name, stream }) => `pipeline '${name}' over stream '${stream}'`,
    );
    if (was !== is) return { refusal: `it has the state of ${was}` };
    const heads = readHeads(dataFolder);
    const resumes = isRollback(plan.hash, heads, nowMs);
    return {
      activePlan: { ordinal, hash },
      differences: describeDifference(planToJson(before.plan), planToJson(plan)),
      views: viewFates(before.plan, plan, resumes),
      policies: describePolicies(before.plan, plan, resumes),
      endedRollbacks: rollbacksEndedBy(plan.hash, heads, nowMs),
    };
  } catch (cause) {
    return { failure: cause instanceof Error ? cause.message : String(cause) };
  }
}

export function describeComparison(change: PlanComparison | null, dataFolder: string): string[] {
  if (change === null) return [];
  if ('failure' in change)
    return [`not compared with the plan of ${dataFolder}: ${change.failure}`];
  if ('refusal' in change) {
    return [
      `tidemark dev does not run this pipeline on ${dataFolder}: ${change.refusal}. Give it a data folder of its own with --data`,
    ];
  }
  const { activePlan, differences, views, policies, endedRollbacks } = change;
  const ended = describeEndedRollbacks(endedRollbacks);
  return [
    `compared with plan ${activePlan.ordinal} (${activePlan.hash.slice(0, 8)}), which ${dataFolder} runs by:`,
    ...differences.map((line) => `  ${line}`),
    'what would become of its views:',
    ...[...views.map(describeFate), ...policies, ...ended].map((line) => `  ${line}`),
    `plan ${activePlan.hash.slice(0, 8)} can come back, exactly as it is, without loss: within 24 h, and before any other change`,
  ];
}
