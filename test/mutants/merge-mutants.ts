/**
 * Faults of runs that are merged: what goes into a merge, and what may be listed in place of what.
 */
import { RUNS_MERGED_BY_TICKS } from '../sim/fixed-scenarios.ts';
import { type Mutant, mutant } from './mutant.ts';

export const MERGE_MUTANTS: readonly Mutant[] = (
  [
    mutant(
      'a merge by a tick leaves out one of its runs',
      'wrong state|wrong answer',
      'core/task/run-merger.ts',
      'const sources = absorbed.map(',
      'const sources = absorbed.slice(1).map(',
    ),
    mutant(
      'a merge is listed although what it absorbed is not listed any more',
      'wrong state|wrong answer',
      'core/checkpoint/merged-run.ts',
      'absorbed.every((old) => ground.runs.some((listed) => sameBlob(listed, old)))',
      'absorbed.length > 0',
    ),
    mutant(
      'of several partials of one key and window one is stored',
      'wrong state|wrong answer',
      'core/checkpoint/run-encoder.ts',
      'this.#partials.push(entry);',
      'this.#partials[0] = entry;',
    ),
    mutant(
      'a merge is listed beside what it absorbed',
      'wrong state|wrong answer',
      'core/checkpoint/merged-run.ts',
      'return [...runs.filter((old) => !absorbed.some((gone) => sameBlob(gone, old))), run];',
      'return [...runs.filter((old) => absorbed.some((gone) => !sameBlob(gone, old))), run];',
    ),
  ] as const
).map((each) => ({ ...each, scenario: RUNS_MERGED_BY_TICKS }));
