/**
 * What is deployed may change only so that nothing is lost: the mapping keeps its place, the stores stay (`store-guard.ts`), and a
 * view or an aggregate that goes or changes its meaning (with it its state) must be named by the person who deploys.
 */
import { parsePlan } from '../../core/definition/parse-plan.ts';
import type { PipelineJson } from '../../core/definition/pipeline-json.ts';
import type { Plan } from '../../core/definition/plan.ts';
import { describeDifference } from '../../core/definition/plan-difference.ts';
import { canonicalJson } from '../../core/definition/plan-json.ts';
import { describeFate, describePolicies, viewFates } from '../../core/definition/view-fate.ts';
import { ROLLBACK_GRACE_MS } from '../../core/limits.ts';
import { LOCK_FILE, type LockedPipeline, type LockedPipelines, lockedOf } from '../lock-file.ts';
import { at } from '../rendered-resource.ts';
import type { Refusal } from './refusal.ts';
import { guardShards } from './shard-guard.ts';
import { guardStores } from './store-guard.ts';

export const ALLOW_DROP = 'tidemark:allowDrop';
/** Its value is the key in the lock file, so that a flag which is left in a script lets nothing else through. */
export const NEW_PIPELINE = 'tidemark:newPipeline';

const ROLLBACK_HOURS = ROLLBACK_GRACE_MS / 3_600_000;

export interface LockFacts {
  readonly key: string;
  readonly now: LockedPipeline;
  readonly locked: LockedPipelines;
  /** Views whose state may be dropped. */
  readonly allowDrop: readonly string[];
  readonly newPipelines: readonly string[];
  /** What synth writes there is not committed. */
  readonly isCi: boolean;
  /** Whether the stage keeps what it has. */
  readonly isKept: boolean;
}

export function guardLock(facts: LockFacts): Refusal[] {
  const { key, now, locked, allowDrop } = facts;
  const before = lockedOf(key, locked);
  if (before === undefined) return [...guardName(key, now, locked), ...guardFirst(facts)];
  return [
    ...guardConstruct(key, before, now),
    ...guardMappingPlace(key, before, now),
    ...guardStores(before, now, unlock(key)),
    ...guardShards(before, now, unlock(key)),
    ...guardViews(key, before, now, allowDrop),
  ];
}

/** Without the file a first deploy looks like one that loses state. */
function guardFirst({ key, isKept, isCi, newPipelines }: LockFacts): Refusal[] {
  if (!isKept || !isCi || newPipelines.includes(key)) return [];
  return [
    {
      found: `${LOCK_FILE} says nothing of ${key}, and this runs in CI (CI=true), where what synth writes is not committed`,
      expected:
        'the file, committed beside the pipeline file: it is what a change is compared with',
      todo: `run cdk synth with the same context on your machine and commit the file; if it is a first deploy, -c ${NEW_PIPELINE}=${key} goes on without it`,
    },
  ];
}

/** A pipeline that is new by its name, in the place of one that is known, would find the state of that one. */
function guardName(key: string, now: LockedPipeline, locked: LockedPipelines): Refusal[] {
  const [former] =
    Object.entries(locked).find(([, one]) => at(one, 'construct') === now.construct) ?? [];
  if (former === undefined) return [];
  return [
    {
      found: `the construct ${now.construct} was ${former} and is ${key} now`,
      expected: 'the same name and stage: table and bucket hold the state of the former',
      todo: `put name and stage back, or give the new pipeline a construct id of its own; ${unlock(former)}`,
    },
  ];
}

function guardConstruct(key: string, before: LockedPipeline, now: LockedPipeline): Refusal[] {
  if (before.construct === now.construct) return [];
  return [
    {
      found: `the construct of ${key} was ${before.construct} and is ${now.construct} now`,
      expected: 'the same path: table and bucket would be made anew, without the state',
      todo: `put the id back; for a second deployment of the same pipeline give it another \`stage\`; ${unlock(key)}`,
    },
  ];
}

function guardMappingPlace(key: string, before: LockedPipeline, now: LockedPipeline): Refusal[] {
  const parts = [
    ['start', before.mapping.start, now.mapping.start],
    ['logical id', before.mapping.logicalId, now.mapping.logicalId],
    ['stream', canonicalJson(before.mapping.stream), canonicalJson(now.mapping.stream)],
  ] as const;
  return parts
    .filter(([, was, is]) => was !== is)
    .map(([part, was, is]) => ({
      found: `the ${part} of the event source mapping was ${was} and is ${is} now`,
      expected: 'the same: another would replace the mapping, which forgets how far it has read',
      todo: `put it back; to begin elsewhere deploy a second pipeline under another \`stage\`; ${unlock(key)}`,
    }));
}

function guardViews(
  key: string,
  { pipeline: before }: LockedPipeline,
  { pipeline: now }: LockedPipeline,
  allowDrop: readonly string[],
): Refusal[] {
  const [was, is] = [planIn(key, before), planIn(key, now)];
  const fates = viewFates(was, is, false);
  const dropped = fates
    .flatMap(({ view, fate, formerName = view, ends = [] }) => {
      return fate === 'left' ? [view] : ends.map((name) => `${formerName}.${name}`);
    })
    .filter((name) => !allowDrop.includes(name));
  if (dropped.length === 0) return [];
  const all = [...allowDrop, ...dropped].sort().join(',');
  const lines = [
    ...describeDifference(before, now),
    ...fates.filter(({ fate }) => fate !== 'left').map(describeFate),
    ...describePolicies(was, is),
  ];
  return [
    {
      found: `this change drops the state of ${dropped.join(', ')}:${lines.map((line) => `\n      ${line}`).join('')}`,
      expected: `views and aggregates that stay, or -c ${ALLOW_DROP}=… to allow it`,
      todo: `-c ${ALLOW_DROP}=${all} goes on. A rollback needs this option too: under exactly the plan before the last deployed change, less than ${ROLLBACK_HOURS} hours after that change, slices go on from where it was left, and its views lose nothing. Otherwise they begin anew where the stream is then; to keep the old ones meanwhile, add the change as a view of another name`,
    },
  ];
}

/** Both sides are read by the same code, so that another version's way to hash is no change. */
function planIn(key: string, pipeline: PipelineJson): Plan {
  const parsed = parsePlan(pipeline);
  if (parsed.ok) return parsed.plan;
  const [problem] = parsed.problems;
  throw new Error(
    `${LOCK_FILE} holds of "${key}" a pipeline that this version cannot read (${problem?.path}: found ${problem?.found}, expected ${problem?.expected}): upgrade Tidemark, or bring the file back from version control`,
  );
}

function unlock(key: string): string {
  return `if it is meant, remove "${key}" from ${LOCK_FILE}`;
}
