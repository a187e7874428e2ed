/**
 * The number of shards stays: in this version slices do not pass their state on, so a split or a merge would leave windows open for
 * good, and ids of before unknown to the new shards.
 */
import type { LockedPipeline } from '../lock-file.ts';
import type { Refusal } from './refusal.ts';

/** A file that does not know the number learns it at this synth. */
export function guardShards(
  { shardCount: was }: Pick<LockedPipeline, 'shardCount'>,
  { shardCount: is }: Pick<LockedPipeline, 'shardCount'>,
  unlock: string,
): Refusal[] {
  if (was === undefined || was === is) return [];
  return [
    {
      found: `the stream had ${was} shards and has ${is ?? 'as many as Kinesis finds right'} now`,
      expected:
        'the same number: in this version a closed shard keeps its state, and its children begin without it',
      todo: `put shardCount back; for more throughput deploy a second pipeline on a stream with more shards under another \`stage\`, and move the producers; ${unlock}`,
    },
  ];
}
