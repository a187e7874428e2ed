/**
 * The slices of a stream as their HEADs say: opened where they are missing, and what follows from them for the stream.
 */
import type { LocalStream } from '../adapters/local/stream/local-stream.ts';
import { beginSlice } from '../core/checkpoint/beginning.ts';
import { type Head, parseHead } from '../core/checkpoint/head.ts';
import { decidePrevious } from '../core/checkpoint/retention.ts';
import { firstHead } from '../core/checkpoint/transitions.ts';
import { DEFAULT_KNOBS } from '../core/knobs.ts';
import type { BlobStore, CheckpointStore } from '../core/ports.ts';
import { comparePositions, type Position, START } from '../core/position.ts';
import { sliceIdOf } from '../core/slice/topology.ts';
import { randomNonces } from './local-ports.ts';

export class SliceHeads {
  readonly #stream: LocalStream;
  readonly #store: CheckpointStore;
  readonly #objects: BlobStore;

  constructor(stream: LocalStream, store: CheckpointStore, objects: BlobStore) {
    this.#stream = stream;
    this.#store = store;
    this.#objects = objects;
  }

  /** Makes sure that each shard has a slice, so that one without records is known too. Throws `LostStateFault`. */
  async open(planOrdinal: number, planHash: string): Promise<Head[]> {
    for (const { shardId, range } of this.#stream.shards()) {
      const sliceId = sliceIdOf(shardId);
      if ((await this.#store.readHead(sliceId)) !== null) continue;
      const nonce = randomNonces.nonce();
      const streamId = this.#stream.id;
      const identity = { sliceId, shardId, range, streamId, planOrdinal, planHash };
      const ports = { heads: this.#store, objects: this.#objects };
      await beginSlice(sliceId, ports, async () => firstHead({ ...identity, nonce }));
    }
    return this.all();
  }

  async all(): Promise<Head[]> {
    return (await this.#store.listHeads()).map(parseHead);
  }

  async of(shardId: string): Promise<Head | null> {
    const item = await this.#store.readHead(sliceIdOf(shardId));
    return item === null ? null : parseHead(item);
  }

  async cursorOf(shardId: string): Promise<Position> {
    return (await this.of(shardId))?.cursor ?? START;
  }

  /** Records that are in the stream and in no checkpoint. */
  async unsavedCount(): Promise<number> {
    let count = 0;
    for (const { shardId } of this.#stream.shards()) {
      const { sequenceNumber } = await this.cursorOf(shardId);
      const tip = this.#stream.tip(shardId);
      if (sequenceNumber === START.sequenceNumber) {
        count += tip.count;
        continue;
      }
      const located = this.#stream.locate(shardId, { kind: 'AFTER', sequenceNumber });
      if (located.outcome === 'located') count += tip.ordinal - located.ordinal + 1;
    }
    return count;
  }

  /** By shard, after which position the stream's records are still needed. */
  async keepAfter(nowMs: number): Promise<Map<string, Position>> {
    const positions = new Map<string, Position>();
    for (const { shardId } of this.#stream.shards()) {
      const head = await this.of(shardId);
      positions.set(shardId, head === null ? START : neededAfter(head, nowMs));
    }
    return positions;
  }
}

/** Where the oldest replay would begin: from an epoch to fall back to, or from where the plan before was left. */
export function neededAfter(head: Pick<Head, 'replayFrom' | 'previous'>, nowMs: number): Position {
  const previous = decidePrevious(head, nowMs, DEFAULT_KNOBS.rollbackGraceMs);
  const { replayFrom } = head;
  const isLater = previous === null || comparePositions(previous.cursor, replayFrom) >= 0;
  return isLater ? replayFrom : previous.cursor;
}
