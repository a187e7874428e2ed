/**
 * What the pipeline cannot be without is still in the tree.
 */
import type { Refusal } from './refusal.ts';

export interface RemovalFacts {
  /** What each part that was removed is, and what is missing without it. */
  readonly removed: readonly (readonly [what: string, without: string])[];
}

export function guardRemoval({ removed }: RemovalFacts): Refusal[] {
  return removed.map(([what, without]) => ({
    found: `the ${what} of the pipeline was removed from the tree`,
    expected: `that it stays: without it ${without}`,
    todo: 'take the tryRemoveChild away',
  }));
}
