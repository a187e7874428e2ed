/**
 * Faults of the parts that the open state is stored in: what they stand for, and what of the deltas is needed beside them.
 */
import { PARTS_AND_RETENTION, SMALL_PARTS } from '../sim/fixed-scenarios.ts';
import { type Mutant, mutant } from './mutant.ts';

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
      'if (part.epoch >= delta.epoch) return true;',
      'if (part.entryCount > 0 || part.epoch >= delta.epoch) return true;',
    ),
    mutant(
      'late partials that runs have count again',
      'wrong state|wrong answer',
      'core/checkpoint/base-reader.ts',
      'hasLate: delta.epoch <= manifest.runsEpoch,',
      'hasLate: false,',
    ),
    mutant(
      'late partials that no run has are left to the runs',
      'wrong state|wrong answer',
      'core/checkpoint/base-reader.ts',
      'hasLate: delta.epoch <= manifest.runsEpoch,',
      'hasLate: true,',
    ),
    mutant(
      'ids that came after those that are written are forgotten',
      'wrong state|wrong answer',
      'core/checkpoint/base-reader.ts',
      'hasIds: delta.epoch <= manifest.ids.until,',
      'hasIds: true,',
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

export const PART_MUTANTS: readonly Mutant[] = [...OF_SMALL_PARTS, ...OF_RETENTION];
