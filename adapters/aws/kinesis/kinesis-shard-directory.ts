/**
 * The shards' hash ranges, for slices that are made. A slice's HEAD follows at once, so this is also where it is noted where
 * the pipeline begins in the shard. A crash between the two leaves a mark that is older than HEAD: it proves no less.
 */
import { ConfigurationFault } from '../../../core/faults.ts';
import type { HashRange, ShardDirectory } from '../../../core/ports.ts';
import type { KinesisTips } from './kinesis-tips.ts';
import type { ShardList } from './shard-list.ts';
import type { StreamSummary } from './stream-summary.ts';

export class KinesisShardDirectory implements ShardDirectory {
  readonly #shards: ShardList;
  readonly #tips: KinesisTips;
  readonly #summary: Pick<StreamSummary, 'streamId'>;
  /** A shard's range never changes. */
  #ranges: ReadonlyMap<string, HashRange> = new Map();

  constructor(shards: ShardList, tips: KinesisTips, summary: Pick<StreamSummary, 'streamId'>) {
    this.#shards = shards;
    this.#tips = tips;
    this.#summary = summary;
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
    const shards = await this.#shards.list();
    this.#ranges = new Map(shards.map(({ shardId, range }) => [shardId, range]));
    return this.#ranges;
  }
}
