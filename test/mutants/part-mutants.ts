/**
 * Faults of the parts that the open state is stored in: what they stand for, and what of the deltas is needed beside them.
 */

import type { Scenario } from '../../simulation/scenario.ts';
import {
  IDS_IN_PARTS,
  MERGED_DELTAS,
  PARTS_AND_RETENTION,
  SMALL_PARTS,
} from '../sim/fixed-scenarios.ts';
import { type Mutant, mutant } from './mutant.ts';

/** Some keep ids by another time, some keep none. */
const PLANS_IN_TURN: Scenario['incidents'] = [1, 2, 3, 0].map((plan, index) => ({
  atMs: 10_000 + 12_000 * index,
  kind: 'change-plan',
  plan,
}));

const UNREADABLE = 'unreadable state|CorruptStateFault|wrong state';

const OF_RETENTION: readonly Mutant[] = (
  [
    mutant(
      'what was replaced is forgotten at once',
      'unreadable state|CorruptStateFault|what HEAD must keep is not kept',
      'core/checkpoint/base-writer.ts',
      '(each) => each.epoch > chainSince || divides',
      '(each) => each.epoch > epoch || divides',
    ),
    mutant(
      'a pack goes with its epoch, although HEAD has parts in it',
      'unreadable state|CorruptStateFault|what HEAD must keep is not kept',
      'core/checkpoint/retention.ts',
      '...packsOf(manifest), ',
      '',
    ),
  ] as const
).map((each) => ({ ...each, scenario: PARTS_AND_RETENTION }));

const OF_SMALL_PARTS: readonly Mutant[] = (
  [
    mutant(
      'a part that deltas have touched stands for the new epoch as it is',
      UNREADABLE,
      'core/checkpoint/part-writer.ts',
      'epoch: isTouched ? part.epoch : epoch',
      'epoch',
    ),
    mutant(
      'a part that moves on is left out',
      UNREADABLE,
      'core/checkpoint/part-writer.ts',
      'if (written !== undefined) return written;',
      'if (written !== undefined) return written;\n      if (!isTouched && bytes !== null) return [];',
    ),
    mutant(
      'a part that arrives after a delta wins over it',
      UNREADABLE,
      'core/checkpoint/base-reader.ts',
      'open.partOf(view, windowStartMs, key).epoch >= change.epoch,',
      'open.partOf(view, windowStartMs, key).entryCount > 0,',
    ),
    mutant(
      'late partials that runs have count again',
      'wrong state|wrong answer',
      'core/checkpoint/base-reader.ts',
      'lateUntil: Math.max(runsEpoch, ledTo)',
      'lateUntil: 0',
    ),
    mutant(
      'late partials that no run has are left to the runs',
      'wrong state|wrong answer',
      'core/checkpoint/base-reader.ts',
      'lateUntil: Math.max(runsEpoch, ledTo)',
      'lateUntil: Number.POSITIVE_INFINITY',
    ),
    mutant(
      'ids that came after those that are written are forgotten',
      'wrong state|wrong answer',
      'core/checkpoint/base-reader.ts',
      'idsUntil: Math.max(ids.until, ledTo)',
      'idsUntil: Number.POSITIVE_INFINITY',
    ),
    mutant(
      'the range of a part is told by its window alone',
      UNREADABLE,
      'core/state/entry-bound.ts',
      'return bound.windowStartMs - windowStartMs || compareBytes(bound.key, key);',
      'return bound.windowStartMs - windowStartMs;',
    ),
    mutant(
      'the floor keeps the deltas after its base only',
      'unreadable state|CorruptStateFault|what HEAD must keep is not kept|InvariantFault',
      'core/checkpoint/transitions.ts',
      'chainSince: since,',
      'chainSince: base === null ? head.chainSince : head.epoch + 1,',
    ),
  ] as const
).map((each) => ({ ...each, scenario: SMALL_PARTS }));

const OF_MERGED_DELTAS: readonly Mutant[] = (
  [
    mutant(
      'a merged delta lacks what its own epoch changed',
      UNREADABLE,
      'core/state/recent-changes.ts',
      'together([...this.#changes.slice(first), newest], entriesMax);',
      '{ ...(together(this.#changes.slice(first), entriesMax) as RecentChange), epoch: newest.epoch };',
    ),
    mutant(
      'a merged delta has the late partials and ids of its own epoch only',
      'wrong state|wrong answer|stored state',
      'core/checkpoint/merge-writer.ts',
      'const { tails } = change;',
      'const { tails } = request.changed;',
    ),
    mutant(
      'late partials that runs have count again where they are merged',
      'wrong state|wrong answer',
      'core/state/part-entries.ts',
      'decodeTails(tails, targets.length, covered, visitor, observer);',
      'decodeTails(tails, targets.length, { lateUntil: 0, idsUntil: 0 }, visitor, observer);',
    ),
    mutant(
      'what is merged lacks entries that other environments changed',
      UNREADABLE,
      'core/checkpoint/restore.ts',
      'recent.add(recorder.change(change), image, change.planHash);\n    applied',
      'recent.add({ ...recorder.change(change), windows: [] }, image, change.planHash);\n    applied',
    ),
  ] as const
).map((each) => ({ ...each, scenario: MERGED_DELTAS }));

const OF_IDS: readonly Mutant[] = (
  [
    mutant(
      'new ids are left out of the parts of a base',
      'wrong state',
      'core/checkpoint/id-writer.ts',
      'if (part === null) this.#extend(until);',
      'if (part === null || this.#parts.length > 1) this.#extend(until);',
    ),
    mutant(
      'a part of ids goes before all of them have expired',
      'wrong state',
      'core/checkpoint/id-writer.ts',
      'parts.filter(({ newestMs }) => newestMs > expiredMs);',
      'parts.filter(({ newestMs }) => newestMs > expiredMs + 30_000);',
    ),
    mutant(
      'of one id the first time counts',
      'wrong state',
      'core/state/dedupe-ids.ts',
      'if (known >= 0 && this.#timeAt(known) >= countedFromMs) return;',
      'if (known >= 0) return;',
    ),
    mutant(
      'a page of ids goes when the first of them has expired',
      'wrong state',
      'core/state/dedupe-ids.ts',
      'page.newestMs = Math.max(page.newestMs, countedFromMs);',
      'page.newestMs = page.countedFromMs[0] as number;',
    ),
    mutant(
      'ids that were merged lack those of the last part',
      'wrong state',
      'core/checkpoint/id-writer.ts',
      'this.#write(after, until, this.#open.startOf(after), this.#endOf(until));',
      'this.#write(after, until, this.#open.startOf(after), this.#open.startOf(until - 1));',
    ),
  ] as const
).map((each) => ({ ...each, scenario: IDS_IN_PARTS }));

const OF_ANOTHER_PLAN: Mutant = {
  ...mutant(
    'what another plan wrote is merged too',
    'unreadable state|CorruptStateFault|InvariantFault',
    'core/state/recent-changes.ts',
    'if (planHash !== image.plan.hash) {',
    'if (planHash === null) {',
  ),
  scenario: { ...MERGED_DELTAS, incidents: PLANS_IN_TURN },
};

export const PART_MUTANTS: readonly Mutant[] = [
  ...OF_SMALL_PARTS,
  ...OF_RETENTION,
  ...OF_MERGED_DELTAS,
  OF_ANOTHER_PLAN,
  ...OF_IDS,
];
