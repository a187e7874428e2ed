/**
 * The stream's shards. Their list is asked for at each question and kept for a while; their hash ranges, for slices that are
 * made. A slice's HEAD follows at once, so this is also where it is noted where
 * the pipeline begins in the shard. A crash between the two leaves a mark that is older than HEAD: it proves no less.
 */
import { ConfigurationFault } from '../../../core/faults.ts';
import { SHARD_LIST_AGE_MS_MAX } from '../../../core/limits.ts';
import type { Clock, HashRange, ShardDirectory } from '../../../core/ports.ts';
import type { KinesisTips } from './kinesis-tips.ts';
import type { ShardList } from './shard-list.ts';
import type { StreamSummary } from './stream-summary.ts';

export interface ShardDirectoryOptions {
  readonly shards: ShardList;
  readonly tips: KinesisTips;
  readonly summary: Pick<StreamSummary, 'streamId'>;
  readonly clock: Clock;
}

export class KinesisShardDirectory implements ShardDirectory {
  readonly #shards: ShardList;
  readonly #tips: KinesisTips;
  readonly #summary: Pick<StreamSummary, 'streamId'>;
  readonly #clock: Clock;
  /** A shard's range never changes. */
  #ranges: ReadonlyMap<string, HashRange> = new Map();
  #listedMs = Number.NEGATIVE_INFINITY;

  constructor({ shards, tips, summary, clock }: ShardDirectoryOptions) {
    this.#shards = shards;
    this.#tips = tips;
    this.#summary = summary;
    this.#clock = clock;
  }

  async shardIds(ageMsMax = SHARD_LIST_AGE_MS_MAX): Promise<readonly string[]> {
    const ageMs = this.#clock.nowMs() - this.#listedMs;
    // A clock that was set back says nothing of the list's age.
    const isFresh = ageMs >= 0 && ageMs < ageMsMax;
    const ranges = isFresh ? this.#ranges : await this.#listAgain();
    return [...ranges.keys()];
  }

  async hashRange(shardId: string): Promise<HashRange> {
    const range = this.#ranges.get(shardId) ?? (await this.#listAgain()).get(shardId);
    if (range === undefined) {
      throw new ConfigurationFault(`the stream has no shard ${shardId}`, {
        hint: 'the event is of another stream, or the shard closed longer ago than the retention',
      });
    }
    await this.#tips.begin(shardId);
    return range;
  }

  streamId(): Promise<string> {
    return this.#summary.streamId();
  }

  async #listAgain(): Promise<ReadonlyMap<string, HashRange>> {
    // It is as old as the moment at which it was asked for.
    const nowMs = this.#clock.nowMs();
    const shards = await this.#shards.list();
    this.#ranges = new Map(shards.map(({ shardId, range }) => [shardId, range]));
    this.#listedMs = nowMs;
    return this.#ranges;
  }
}
