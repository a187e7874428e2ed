/**
 * Faults of windows that have closed: what stays where until runs have it, and what the watermark of which moment may take away.
 */
import { SMALL_PARTS } from '../sim/fixed-scenarios.ts';
import { type Mutant, mutant } from './mutant.ts';

const UNREADABLE = 'unreadable state|CorruptStateFault|wrong state';

export const CLOSING_MUTANTS: readonly Mutant[] = (
  [
    mutant(
      'a drained bound is ignored by a restore',
      UNREADABLE,
      'core/state/part-entries.ts',
      '} else if (image.drained.has(view, windowStartMs, key)) {',
      '} else if (image.drained.has(view, windowStartMs, key) && view < 0) {',
    ),
    mutant(
      'the drained bound moves before a run is in the manifest',
      'InvariantFault|wrong state|wrong answer|unreadable state|CorruptStateFault',
      'core/checkpoint/base-writer.ts',
      '  const { bounds } = drain;\n',
      '  const { bounds } = drain;\n  for (const [view, bound] of bounds.entries()) image.forgetDrained(view, bound);\n',
    ),
    mutant(
      'a closing entry is left out of a part',
      UNREADABLE,
      'core/state/slice-state.ts',
      'for (const windowStartMs of table.windowStarts()) {',
      'for (const windowStartMs of table.windowStarts((start) => !this.image.isClosing(view, start))) {',
    ),
    mutant(
      'a drained entry is left out of the run',
      'wrong state|wrong answer',
      'core/checkpoint/run-writer.ts',
      '[...(drain.entries[view] ?? []), ...entries]',
      '[...(drain.entries[view] ?? []).slice(1), ...entries]',
    ),
    mutant(
      'the last of the entries that are drained at a time is left out',
      'wrong state|wrong answer|unreadable state',
      'core/state/closing.ts',
      'for (const ordinal of ordinals) {',
      'for (const ordinal of ordinals.subarray(0, -1)) {',
    ),
    mutant(
      'a window that is drained in part is answered twice',
      'wrong answer',
      'core/query/row-cursor.ts',
      'if (window === this.#cutWindow && this.#isDrained(keys, ordinal)) continue;',
      '',
    ),
    mutant(
      'a memory that follows keeps what was drained',
      'wrong answer|InvariantFault|unreadable state|CorruptStateFault|wrong state',
      'core/checkpoint/open-parts.ts',
      'image.forgetDrained(view, parts[0]?.from ?? null);',
      '',
    ),
    mutant(
      'a window leaves with the record that closes it, before a commit',
      'wrong state|wrong answer|unreadable state|CorruptStateFault|InvariantFault',
      'core/state/slice-state.ts',
      '    this.#fold.fold(record, this.image, this.#since, condemned);\n',
      '    this.#fold.fold(record, this.image, this.#since, condemned);\n' +
        '    for (const [view, table] of this.image.tables.entries()) {\n' +
        '      const isOpen = this.#isOpen(view);\n' +
        '      for (const start of table.windowStarts((each) => !isOpen(each))) table.removeWindow(start);\n' +
        '    }\n',
    ),
  ] as const
).map((each) => ({ ...each, scenario: SMALL_PARTS }));
