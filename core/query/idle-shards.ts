/**
 * Shards of which no slice has folded a record: whether they have records decides whether a watermark is known. What says it
 * is the stream's own list of shards, since a shard without a HEAD may have records too. A stream that is busy, gone or may not
 * be read is no reason for no answer: what it does not say is not known, and why is part of the answer.
 */
import { ConfigurationFault, StreamMismatchFault, TransientFault } from '../faults.ts';
import type { Clock, RecordSource, ShardDirectory } from '../ports.ts';
import { START } from '../position.ts';
import { contentOf, isWaitedFor, type ShardContent, unfoldedShards } from '../slice/topology.ts';
import { withHint } from './query-problem.ts';

export interface IdleShardPorts {
  readonly source: RecordSource;
  readonly shards: Pick<ShardDirectory, 'shardIds'>;
  readonly clock: Clock;
}

export interface ShardListing {
  /** Null if the stream does not say now: rows are right without it, but nothing is closed or complete. */
  readonly shardIds: readonly string[] | null;
  /** Why it does not. */
  readonly fault: string | null;
}

export interface IdleJudgement {
  /** Ids of shards that have records, or do not say now, while nothing of them is folded. */
  readonly waits: ReadonlySet<string>;
  /** Ids of the shards that no slice stands for. */
  readonly unopened: readonly string[];
  /** Why the stream does not say which shards it has, or what the first such shard holds; null if it says, or gives no reason. */
  readonly fault: string | null;
}

/** What the stream says of the first record of a shard, asked at `atMs`. */
interface Seen {
  readonly atMs: number;
  readonly content: ShardContent;
  readonly fault: string | null;
}

export class IdleShards {
  readonly #ports: IdleShardPorts;
  /** By shard, what it said last. */
  readonly #seen = new Map<string, Seen>();

  constructor(ports: IdleShardPorts) {
    this.#ports = ports;
  }

  /** As the stream was at most `ageMsMax` ago; by default as old as a list may be. */
  async list(ageMsMax?: number): Promise<ShardListing> {
    try {
      return { shardIds: await this.#ports.shards.shardIds(ageMsMax), fault: null };
    } catch (error) {
      return { shardIds: null, fault: silenceOf(error) };
    }
  }

  /**
   * `slices` are all that have a HEAD, `listing` what the stream listed after they were read. A shard that said less than
   * `ageMsMax` ago what it holds is not asked again; with 0, what came before this question is not overlooked.
   */
  async judge(
    slices: readonly { readonly shardId: string; readonly recordCount: number }[],
    listing: ShardListing,
    ageMsMax: number,
  ): Promise<IdleJudgement> {
    const asked = unfoldedShards(slices, listing.shardIds);
    const answers = await Promise.all(
      asked.map(async ({ shardId, hasSlice }) => {
        return { shardId, ...(await this.#contentOf(shardId, hasSlice, ageMsMax)) };
      }),
    );
    const waiting = answers.filter(({ content }) => isWaitedFor(content));
    const faults = [listing.fault, ...waiting.map(({ fault }) => fault)];
    return {
      waits: new Set(waiting.map(({ shardId }) => shardId)),
      unopened: asked.filter(({ hasSlice }) => !hasSlice).map(({ shardId }) => shardId),
      fault: faults.find((fault) => fault !== null) ?? null,
    };
  }

  async #contentOf(shardId: string, hasSlice: boolean, ageMsMax: number): Promise<Seen> {
    const nowMs = this.#ports.clock.nowMs();
    const before = this.#seen.get(shardId);
    if (before !== undefined) {
      // What has had records keeps having had them.
      if (before.content === 'records') return before;
      const ageMs = nowMs - before.atMs;
      // A clock that was set back says nothing of its age.
      if (ageMs >= 0 && ageMs < ageMsMax) return before;
    }
    const seen = { atMs: nowMs, ...(await this.#ask(shardId, hasSlice)) };
    this.#seen.set(shardId, seen);
    return seen;
  }

  async #ask(shardId: string, hasSlice: boolean): Promise<Pick<Seen, 'content' | 'fault'>> {
    try {
      const first = await this.#ports.source.readAfter(shardId, START, 1);
      return { content: contentOf(first, hasSlice), fault: null };
    } catch (error) {
      return { content: 'unknown', fault: silenceOf(error) };
    }
  }
}

/** What keeps the stream from saying it; throws what is none of its faults. */
function silenceOf(error: unknown): string {
  const isSilence =
    error instanceof TransientFault ||
    error instanceof ConfigurationFault ||
    error instanceof StreamMismatchFault;
  if (isSilence) return withHint(error);
  throw error;
}
