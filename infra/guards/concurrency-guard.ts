/**
 * Reserved concurrency is a limit too: with less than two places for each shard, one for its batch and one for its tick, shards wait
 * for one another and fall behind.
 */
import type { Refusal } from './refusal.ts';

export interface ConcurrencyFacts {
  readonly reserved: number | undefined;
  /** Undefined where it is unknown: an on-demand or imported stream. */
  readonly shardCount: number | undefined;
}

/** Its batch, and what a tick asks of its slice at the same time. */
const OF_A_SHARD = 2;
/** What admin asks. */
const OTHERS = 1;

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
  const least = OF_A_SHARD * shardCount + OTHERS;
  if (Number.isInteger(reserved) && reserved >= least) return [];
  return [
    {
      found: `reservedConcurrency is ${reserved}`,
      expected: `at least ${least}: for each of ${shardCount} shards one for batches and one for ticks, and one for what admin asks`,
      todo: `give ${least} or more, or leave it out`,
    },
  ];
}
