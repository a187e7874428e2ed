/**
 * Shards of which no slice has folded a record: whether they have records decides whether a watermark is known. What says it
 * is the stream's own list of shards, since a shard without a HEAD may have records too.
 */
import { TransientFault } from '../faults.ts';
import type { RecordSource, ShardDirectory } from '../ports.ts';
import { START } from '../position.ts';

export interface IdleShardPorts {
  readonly source: RecordSource;
  readonly shards: Pick<ShardDirectory, 'shardIds'>;
}

export interface IdleJudgement {
  /** Ids of shards that have records, or do not say now, while nothing of them is folded. */
  readonly waits: ReadonlySet<string>;
  /** Ids of the shards that no slice stands for. */
  readonly unopened: readonly string[];
}

export class IdleShards {
  readonly #ports: IdleShardPorts;
  /** Shards that were seen to have records: they keep having had them. */
  readonly #filled = new Set<string>();

  constructor(ports: IdleShardPorts) {
    this.#ports = ports;
  }

  /** Null if the stream does not say now: rows are right without it, but nothing is closed or complete. */
  async list(): Promise<readonly string[] | null> {
    try {
      return await this.#ports.shards.shardIds();
    } catch (fault) {
      if (fault instanceof TransientFault) return null;
      throw fault;
    }
  }

  /** `slices` are all that have a HEAD, `shardIds` what the stream listed after they were read. */
  async judge(
    slices: readonly { readonly shardId: string; readonly recordCount: number }[],
    shardIds: readonly string[] | null,
  ): Promise<IdleJudgement> {
    const known = new Set(slices.map(({ shardId }) => shardId));
    const unopened = (shardIds ?? []).filter((shardId) => !known.has(shardId));
    const idle = slices.filter(({ recordCount }) => recordCount === 0);
    const asked = [
      ...idle.map(({ shardId }) => ({ shardId, hasSlice: true })),
      ...unopened.map((shardId) => ({ shardId, hasSlice: false })),
    ];
    const answers = await Promise.all(
      asked.map(async ({ shardId, hasSlice }) =>
        (await this.#hasRecords(shardId, hasSlice)) ? [shardId] : [],
      ),
    );
    return { waits: new Set(answers.flat()), unopened };
  }

  /** True, too, if that cannot be told now. `hasSlice` says whether a slice begins at the shard's first record. */
  async #hasRecords(shardId: string, hasSlice: boolean): Promise<boolean> {
    if (this.#filled.has(shardId)) return true;
    try {
      const first = await this.#ports.source.readAfter(shardId, START, 1);
      // Of a shard without a slice there is no mark that a record was there: what is gone was never the pipeline's.
      // The shard closed without a record so long ago that the stream no longer has it.
      if (first.outcome === 'gone') return false;
      if (first.outcome === 'trimmed') return hasSlice || first.oldest !== null;
      if (first.records.length > 0) this.#filled.add(shardId);
      return first.records.length > 0 || !first.reachedTip;
    } catch (fault) {
      if (fault instanceof TransientFault) return true;
      throw fault;
    }
  }
}
