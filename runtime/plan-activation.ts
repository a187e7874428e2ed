/**
 * Which plan a data folder runs by: the newest activation. Whoever starts with another plan activates it, and is told what
 * that means for the state that is there.
 */
import type { StoredPlan } from '../adapters/local/data-folder.ts';
import { assert } from '../core/assert.ts';
import type { Head } from '../core/checkpoint/head.ts';
import { parsePlan } from '../core/definition/parse-plan.ts';
import type { PipelineJson } from '../core/definition/pipeline-json.ts';
import type { Plan, ViewPlan } from '../core/definition/plan.ts';
import { describeDifference } from '../core/definition/plan-difference.ts';
import { canonicalJson, planToJson } from '../core/definition/plan-json.ts';
import { DEFAULT_KNOBS } from '../core/knobs.ts';
import type { ActivePlan, PlanRegistry } from '../core/ports.ts';

export interface Activation {
  readonly ordinal: number;
  /** Null if the plan was active already, or is the first. */
  readonly change: PlanChange | null;
}

export interface PlanChange {
  readonly ordinal: number;
  readonly hash: string;
  readonly previousHash: string;
  /** A line each; see `describeDifference`. */
  readonly differences: readonly string[];
  readonly views: readonly ViewFate[];
}

export interface ViewFate {
  readonly view: string;
  readonly fate: Fate;
}

/**
 * - `kept`: its state goes on.
 * - `resumed`: it goes on from where this plan was left; what came since is folded again.
 * - `begins`: it begins at each slice's cursor and is incomplete before.
 * - `left`: it is no part any more; its state is kept so that a rollback goes on from there.
 */
export type Fate = 'kept' | 'resumed' | 'begins' | 'left';

export interface ActivationContext {
  readonly registry: PlanRegistry;
  /** What the folder's HEADs were written by before there was a registry. */
  readonly firstPlan: StoredPlan | null;
  readonly heads: readonly Head[];
  readonly nowMs: number;
}

/** Makes a plan the active one. Nobody else activates meanwhile: the data folder is ours. */
export async function activatePlan(plan: Plan, context: ActivationContext): Promise<Activation> {
  const { registry, firstPlan } = context;
  let active = await registry.active();
  if (active === null && firstPlan !== null) {
    active = { ordinal: 1, ...firstPlan };
    await activate(registry, active);
  }
  if (active?.hash === plan.hash) return { ordinal: active.ordinal, change: null };
  const ordinal = (active?.ordinal ?? 0) + 1;
  const pipeline = canonicalJson(planToJson(plan));
  await activate(registry, { ordinal, hash: plan.hash, pipeline });
  return { ordinal, change: active === null ? null : planChange(active, plan, ordinal, context) };
}

async function activate(registry: PlanRegistry, plan: ActivePlan): Promise<void> {
  const outcome = await registry.activate(plan);
  assert(outcome === 'applied', 'nobody-else-activates-plans', () => `ordinal ${plan.ordinal}`);
}

function planChange(
  before: ActivePlan,
  plan: Plan,
  ordinal: number,
  { heads, nowMs }: ActivationContext,
): PlanChange {
  const { hash } = plan;
  const common = { ordinal, hash, previousHash: before.hash };
  const json = JSON.parse(before.pipeline) as PipelineJson;
  const parsed = parsePlan(json);
  // Another version of Tidemark took for a pipeline what this one does not.
  if (!parsed.ok) return { ...common, differences: [], views: fates([], plan, false) };
  const resumes = isRollback(hash, heads, nowMs);
  return {
    ...common,
    differences: describeDifference(json, planToJson(plan)),
    views: fates(parsed.plan.views, plan, resumes),
  };
}

function fates(before: readonly ViewPlan[], plan: Plan, resumes: boolean): ViewFate[] {
  const known = new Set(before.map(({ hash }) => hash));
  const wanted = new Set(plan.views.map(({ hash }) => hash));
  const begins = resumes ? 'resumed' : 'begins';
  return [
    ...plan.views.map(({ name, hash }): ViewFate => {
      return { view: name, fate: known.has(hash) ? 'kept' : begins };
    }),
    ...before
      .filter(({ hash }) => !wanted.has(hash))
      .map(({ name }): ViewFate => ({ view: name, fate: 'left' })),
  ];
}

/** True if every slice that has state was left by this plan lately, or still is under it. */
function isRollback(hash: string, heads: readonly Head[], nowMs: number): boolean {
  return heads.every(({ planHash, previous, epoch }) => {
    if (planHash === hash || epoch === 0) return true;
    const isLate = previous !== null && nowMs - previous.sinceMs >= DEFAULT_KNOBS.rollbackGraceMs;
    return previous?.planHash === hash && !isLate;
  });
}
