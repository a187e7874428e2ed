/**
 * Two pipelines do not share their keys in a bucket: each would remove what the other's HEADs reach.
 */
import type { Refusal } from './refusal.ts';

export interface SharingFacts {
  readonly keyPrefix: string;
  /** The paths of pipelines in the same bucket, under the same prefix. */
  readonly others: readonly string[];
}

export function guardSharing({ keyPrefix, others }: SharingFacts): Refusal[] {
  return others.map((path) => ({
    found: `${path} has the same bucket and the same keyPrefix '${keyPrefix}'`,
    expected: 'a prefix of its own: each pipeline removes what its own HEADs do not reach',
    todo: 'give one of them another `keyPrefix` (by default it follows stage and name), or another bucket',
  }));
}
