import { describe, expect, it } from 'vitest';
import { MemoryPorts } from '../../../adapters/memory/memory-ports.ts';
import { collect } from '../../../core/checkpoint/collect.ts';
import { EMPTY_MANIFEST } from '../../../core/checkpoint/manifest.ts';
import { blobKey } from '../../../core/checkpoint/names.ts';
import { SLICE } from '../../world/small-log.ts';
import { blobAt, runAt, someHead } from './blob-fixture.ts';

async function storesWith(blobs: Parameters<typeof blobKey>[1][]) {
  const { objects, items } = new MemoryPorts(0).blobs;
  const lists: { prefix: string; after: string | null }[] = [];
  const list = objects.list.bind(objects);
  objects.list = (prefix, after, limit) => {
    lists.push({ prefix, after });
    return list(prefix, after, limit);
  };
  for (const name of blobs) await objects.create(blobKey(SLICE, name), new Uint8Array(1));
  const left = async () =>
    (await list('', null, 1_000)).map(({ key }) => key.slice(SLICE.length + 1));
  return { stores: { items, objects }, lists, left };
}

const keyOf = (name: Parameters<typeof blobKey>[1]) => blobKey(SLICE, name).slice(SLICE.length + 1);
const deltas = (from: number, to: number, timeline = 0) =>
  Array.from({ length: to - from }, (_, index) => blobAt('delta', from + index, { timeline }));

describe('a collection', () => {
  const head = { ...someHead, timeline: 0, collectBelow: 12 };

  it('lists deltas, merged ones and bases from the floor before to the floor, and deletes what lies between', async () => {
    const blobs = [
      ...deltas(3, 20),
      blobAt('base', 9),
      blobAt('base', 17),
      runAt(2),
      blobAt('merged', 11),
      blobAt('merged', 12),
    ];
    const { stores, lists, left } = await storesWith(blobs);
    const manifest = { ...EMPTY_MANIFEST, runs: [runAt(2)] };
    await collect(head, manifest, stores, 9);
    const kept = [
      ...deltas(3, 9),
      ...deltas(12, 20),
      blobAt('merged', 12),
      blobAt('base', 17),
      runAt(2),
    ];
    expect(await left()).toEqual(kept.map(keyOf).sort());
    expect(lists).toContainEqual({
      prefix: `${SLICE}/delta/`,
      after: `${SLICE}/delta/000000000000-000000000009`,
    });
    expect(lists.filter(({ prefix }) => prefix !== `${SLICE}/run/`)).toHaveLength(3);
  });

  it('from the beginning finds what a crash left', async () => {
    const { stores, left } = await storesWith(deltas(3, 20));
    await collect(head, EMPTY_MANIFEST, stores);
    expect(await left()).toEqual(deltas(12, 20).map(keyOf));
  });

  it('finds what lies below the floor on each timeline, and passes over those without any', async () => {
    const later = { ...head, timeline: 7 };
    const blobs = [...deltas(9, 15), ...deltas(10, 14, 3), ...deltas(11, 18, 7)];
    const { stores, lists, left } = await storesWith(blobs);
    await collect(later, EMPTY_MANIFEST, stores, 9);
    const kept = [...deltas(12, 15), ...deltas(12, 14, 3), ...deltas(12, 18, 7)];
    expect(await left()).toEqual(kept.map(keyOf).sort());
    expect(lists.filter(({ prefix }) => prefix === `${SLICE}/delta/`).length).toBeLessThan(7);
  });
});
