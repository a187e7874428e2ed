/**
 * Faults of readers that seek into parts: what counts of overlay and part. That a part which cannot be read is named, and that
 * entries before its range are of another part, is held by test/unit/query/seeks.test.ts: no seed among the first finds these.
 */
import { SMALL_PARTS } from '../sim/fixed-scenarios.ts';
import { type Mutant, mutant } from './mutant.ts';

const WITH_READERS = { ...SMALL_PARTS, readers: 3 };

export const SEEK_MUTANTS: readonly Mutant[] = (
  [
    mutant(
      'an entry of an overlay does not win over its part',
      'wrong answer',
      'core/query/part-cursor.ts',
      'if (overlay.find(key, key.length, hashKey(key)) >= 0) continue;',
      '',
    ),
    mutant(
      'an overlay lacks what deltas before its base say beyond the parts',
      'wrong answer',
      'core/checkpoint/base-reader.ts',
      'parts.adopt(manifest, image, epoch);\n  await addOlder(followed, standing, older);',
      'parts.adopt(manifest, image, epoch);',
    ),
    mutant(
      'a window that no part begins in is not looked for',
      'wrong answer',
      'core/query/part-lanes.ts',
      'return leastMs < lastMs && leastMs < toMs;',
      'return leastMs < lastMs && leastMs < toMs && firstMs === Number.NEGATIVE_INFINITY;',
    ),
  ] as const
).map((each) => ({ ...each, scenario: WITH_READERS }));
