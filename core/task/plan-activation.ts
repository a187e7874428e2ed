/**
 * Which plan a pipeline's stores run by: the newest activation. Code that carries another plan activates it, and is told
 * what that means for the state that is there.
 */
import { hasBirths, registryIsLost } from '../checkpoint/beginning.ts';
import type { Head } from '../checkpoint/head.ts';
import { parsePlan } from '../definition/parse-plan.ts';
import type { PipelineJson } from '../definition/pipeline-json.ts';
import type { Plan } from '../definition/plan.ts';
import { describeDifference } from '../definition/plan-difference.ts';
import { canonicalJson, planToJson } from '../definition/plan-json.ts';
import { describePolicies, type ViewFate, viewFates } from '../definition/view-fate.ts';
import { ConfigurationFault, TransientFault } from '../faults.ts';
import type { ActivePlan, BlobStore, PlanRegistry } from '../ports.ts';
import { isRollback, rollbacksEndedBy } from './kept-plans.ts';

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
  /** A line each; see `describePolicies`. */
  readonly policies: readonly string[];
  /** Hashes of plans that a rollback could go back to before this change; see `describeEndedRollbacks`. */
  readonly endedRollbacks: readonly string[];
}

export interface ActivationContext {
  readonly registry: PlanRegistry;
  readonly heads: readonly Head[];
  /** What tells a registry that was lost from a new one. */
  readonly objects: BlobStore;
  readonly nowMs: number;
}

/**
 * Makes a plan the active one. Throws `TransientFault` if another deployment activates another meanwhile, `ConfigurationFault`
 * if the stores are another pipeline's, and `LostStateFault` if the first plan is to be activated beside state that there is.
 */
export async function activatePlan(plan: Plan, context: ActivationContext): Promise<Activation> {
  const { registry } = context;
  const active = await registry.active();
  if (active === null) await refuseLostRegistry(context);
  if (active?.hash === plan.hash) return { ordinal: active.ordinal, change: null };
  if (active !== null) refuseOtherPipeline(active, plan);
  const ordinal = (active?.ordinal ?? 0) + 1;
  const pipeline = canonicalJson(planToJson(plan));
  await activate(registry, { ordinal, hash: plan.hash, pipeline });
  return { ordinal, change: active === null ? null : planChange(active, plan, ordinal, context) };
}

/** Slices begin after the first activation only. */
async function refuseLostRegistry({ heads, objects }: ActivationContext): Promise<void> {
  if (heads.length > 0) throw registryIsLost(`HEADs of ${heads.length} slices`);
  if (await hasBirths(objects)) throw registryIsLost('birth records of slices among its objects');
}

async function activate(registry: PlanRegistry, plan: ActivePlan): Promise<void> {
  if ((await registry.activate(plan)) === 'applied') return;
  const now = await registry.active();
  if (now !== null && now.hash === plan.hash && now.ordinal === plan.ordinal) return;
  throw new TransientFault(
    `another process activated a plan meanwhile, as number ${plan.ordinal}`,
    {
      hint: 'let only one deployment at a time change a pipeline, then try again',
    },
  );
}

/** What folds into the state of another stream, or under another name, would belong to neither. */
function refuseOtherPipeline({ pipeline }: ActivePlan, plan: Plan): void {
  const before = JSON.parse(pipeline) as Partial<PipelineJson>;
  for (const what of ['name', 'stream'] as const) {
    // What another version took for a pipeline may name none.
    if (before[what] === undefined || before[what] === plan[what]) continue;
    throw new ConfigurationFault(
      `the stores hold the state of a pipeline whose ${what} is '${before[what]}', this plan's is '${plan[what]}'`,
      { hint: 'give each pipeline stores of its own: another stack, or another data folder' },
    );
  }
}

function planChange(
  before: ActivePlan,
  plan: Plan,
  ordinal: number,
  { heads, nowMs }: ActivationContext,
): PlanChange {
  const { hash } = plan;
  const endedRollbacks = rollbacksEndedBy(hash, heads, nowMs);
  const common = { ordinal, hash, previousHash: before.hash, endedRollbacks };
  const json = JSON.parse(before.pipeline) as PipelineJson;
  const parsed = parsePlan(json);
  // Another version of Tidemark took for a pipeline what this one does not.
  if (!parsed.ok) {
    const views = plan.views.map(({ name }): ViewFate => ({ view: name, fate: 'begins' }));
    return { ...common, differences: [], views, policies: [] };
  }
  const resumes = isRollback(hash, heads, nowMs);
  return {
    ...common,
    differences: describeDifference(json, planToJson(plan)),
    views: viewFates(parsed.plan, plan, resumes),
    policies: describePolicies(parsed.plan, plan, resumes),
  };
}
