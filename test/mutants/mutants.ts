/**
 * All mutants: what the simulation does not find in them it would not find in the product either. docs/testing.md has the table.
 */
import { CLOSING_MUTANTS } from './closing-mutants.ts';
import { KEEPING_MUTANTS } from './keeping-mutants.ts';
import { LOCAL_MUTANTS } from './local-mutants.ts';
import { MERGE_MUTANTS } from './merge-mutants.ts';
import type { Mutant } from './mutant.ts';
import { PART_MUTANTS } from './part-mutants.ts';
import { PROTOCOL_MUTANTS } from './protocol-mutants.ts';
import { SEEK_MUTANTS } from './seek-mutants.ts';
import { TASK_MUTANTS } from './task-mutants.ts';

export type { Mutant } from './mutant.ts';

/** To see that it is the mutants that fail. */
export const SOUND: Mutant = { name: 'nothing is changed', foundAs: [], edits: [] };

export const MUTANTS: readonly Mutant[] = [
  ...PROTOCOL_MUTANTS,
  ...TASK_MUTANTS,
  ...KEEPING_MUTANTS,
  ...PART_MUTANTS,
  ...SEEK_MUTANTS,
  ...CLOSING_MUTANTS,
  ...MERGE_MUTANTS,
  ...LOCAL_MUTANTS,
];

export function mutantNamed(name: string): Mutant {
  if (name === SOUND.name) return SOUND;
  const mutant = MUTANTS.find((each) => each.name === name);
  if (mutant === undefined) throw new Error(`there is no mutant '${name}'`);
  return mutant;
}
