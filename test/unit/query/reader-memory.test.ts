import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../../core/checkpoint/restore.ts';
import { ReaderMemory } from '../../../core/query/reader-memory.ts';
import { RowIndexes } from '../../../core/query/row-indexes.ts';
import type { PinnedSlice } from '../../../core/query/snapshot-token.ts';
import { Snapshots } from '../../../core/query/snapshots.ts';
import { plan, QueryWorld } from './query-world.ts';

/** A checkpoint whose image takes so many bytes, with indexes of as many again. */
function checkpointOf(bytes: number): Checkpoint {
  return { image: { heapBytes: () => bytes } } as Checkpoint;
}

function memoryOf(bytesMax: number): {
  memory: ReaderMemory;
  use(name: string, bytes: number): void;
  dropped: string[];
} {
  const memory = new ReaderMemory(
    { heapBytes: (image) => image.heapBytes() },
    { heapBytes: 0 },
    bytesMax,
  );
  const dropped: string[] = [];
  const use = (name: string, bytes: number) =>
    memory.use(name, checkpointOf(bytes), () => dropped.push(name));
  return { memory, use, dropped };
}

describe('the memory of a reader', () => {
  it('drops what was not used for longest, counts indexes in, and keeps what is in use', () => {
    const { memory, use, dropped } = memoryOf(60);
    for (const name of ['a', 'b', 'c']) use(name, 10);
    memory.settle(1);
    expect(dropped).toEqual([]);
    use('a', 10);
    use('d', 10);
    memory.settle(1);
    expect(dropped).toEqual(['b']);
    use('e', 100);
    memory.settle(1);
    expect(dropped).toEqual(['b', 'd', 'a', 'c']);
    memory.settle(1);
    expect(dropped).toHaveLength(4);
  });

  it('counts an image as it is now, once it has moved on', () => {
    const { memory, use, dropped } = memoryOf(60);
    use('a', 10);
    use('b', 10);
    use('a', 40);
    memory.settle(1);
    expect(dropped).toEqual(['b']);
  });

  it('is bounded over the images of all slices, and snapshots stay what they are', async () => {
    const world = new QueryWorld();
    const flight = { t: 1_000, origin: 'LAX', to: 'X', delay: 1 };
    for (const shard of [0, 1]) await world.deliver(shard, flight);
    let reads = 0;
    const { objects, items } = world.blobs;
    const counted = <T extends object>(store: T): T =>
      new Proxy(store, {
        get(target, name) {
          if (name === 'read') reads++;
          return (Reflect.get(target, name) as (...given: unknown[]) => unknown).bind(target);
        },
      });
    const ports = { ...world.ports, blobs: { objects: counted(objects), items: counted(items) } };
    const memory = new ReaderMemory(new RowIndexes(), { heapBytes: 0 }, 1);
    const snapshots = new Snapshots(plan, ports, { memory });
    const first = await snapshots.newest();
    await snapshots.newest();
    expect(reads).toBe(2);
    for (const shard of [0, 1]) await world.deliver(shard, { ...flight, t: 2_000 });
    const second = await snapshots.newest();
    reads = 0;
    const slices = first.parts.map(({ pinned }): PinnedSlice => pinned);
    const asked = { slices, fingerprint: first.fingerprint, isListed: true } as const;
    const token = { ...asked, issuedMs: 0, questionHash: '', after: NOWHERE };
    for (let time = 1; time <= 2; time++) {
      expect((await snapshots.pinned(token))?.fingerprint).toBe(first.fingerprint);
      const loaded = reads;
      // What the page does not read has gone.
      expect((await snapshots.newest()).fingerprint).toBe(second.fingerprint);
      expect(reads).toBeGreaterThan(loaded);
    }
  });
});

const NOWHERE = { value: null, key: new Uint8Array(), windowStartMs: 0 };
