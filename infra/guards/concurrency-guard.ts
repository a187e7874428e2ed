/**
 * Reserved concurrency is a limit too: with less than a place for each shard, shards wait for one another and fall behind.
 */
import type { Refusal } from './refusal.ts';

export interface ConcurrencyFacts {
  readonly reserved: number | undefined;
  /** Undefined where nobody can tell: an on-demand or imported stream. */
  readonly shardCount: number | undefined;
}

/** Of a tick, and of what admin asks. */
const OTHERS = 2;

export function guardConcurrency({ reserved, shardCount }: ConcurrencyFacts): Refusal[] {
  if (reserved === undefined) return [];
  if (shardCount === undefined) {
    return [
      {
        found: `reservedConcurrency is ${reserved}, and how many shards the stream has cannot be known here`,
        expected: '`shardCount` beside it: the most shards that you expect',
        todo: 'give shardCount, or leave reservedConcurrency out: then shards share what the account has',
      },
    ];
  }
  const least = shardCount + OTHERS;
  if (Number.isInteger(reserved) && reserved >= least) return [];
  return [
    {
      found: `reservedConcurrency is ${reserved}`,
      expected: `at least ${least}: ${shardCount} for the shards, one for ticks, one for what admin asks`,
      todo: `give ${least} or more (twice as many leave room for a reshard), or leave it out`,
    },
  ];
}
