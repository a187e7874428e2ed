/**
 * A small, plausible fault, as a replacement of source text, and as what the simulation must find it.
 */

import type { Scenario } from '../../simulation/scenario.ts';

export interface Edit {
  /** From the root of the project. */
  readonly file: string;
  /** Stands there exactly once. */
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  readonly name: string;
  /** The kinds of failure that are this fault: another one would have been found by chance. */
  readonly foundAs: readonly string[];
  readonly edits: readonly Edit[];
  /** The world that must find it, where that is not the simulation. */
  readonly world?: 'local';
  /** What is fixed of the scenario that each seed draws: the fault needs what drawn ones seldom have. */
  readonly scenario?: Partial<Scenario>;
}

/** A mutant of one edit. `foundAs`: kinds, with `|` between them. */
export function mutant(
  name: string,
  foundAs: string,
  file: string,
  find: string,
  replace: string,
): Mutant {
  return { name, foundAs: foundAs.split('|'), edits: [{ file, find, replace }] };
}
