/** A part that was never written again, and cannot be read any more: its slice goes on, and answers say what they lack. */
import { describe, expect, it } from 'vitest';
import { decodeBase } from '../../../core/checkpoint/base.ts';
import { referenceOf } from '../../../core/checkpoint/blobs.ts';
import { type BlobName, blobKey, parseBlobKey } from '../../../core/checkpoint/names.ts';
import { loadOverlay } from '../../../core/checkpoint/overlay.ts';
import { load } from '../../../core/checkpoint/restore.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import { compareBound, type EntryBound } from '../../../core/state/entry-bound.ts';
import { expectRightOutside } from './damaged-answer.ts';
import {
  answerOf,
  type Flight,
  groupedRows,
  pagesOf,
  plainRow,
  plan,
  QueryWorld,
  shardIdOf,
} from './query-world.ts';

const flightOf = (index: number, delay = index): Flight => {
  return { t: 1_000, origin: `O${String(index).padStart(4, '0')}`, to: 'X', delay };
};

/** Groups in many parts, of which only those around O0500 were written since, and no record is left in the stream to fold again. */
async function coldWorld(): Promise<QueryWorld> {
  const world = await wholeWorld();
  world.source.trim(shardIdOf(0), (await world.head(0)).cursor);
  return world;
}

async function wholeWorld(retentionGraceMs = 1): Promise<QueryWorld> {
  const world = new QueryWorld({
    ...{ partBytesMax: 2_000, chainLengthMax: 1, partBytesMinToRewrite: 1, retentionGraceMs },
  });
  await world.deliver(0, ...Array.from({ length: 600 }, (_, index) => flightOf(index)));
  for (let round = 0; round < 6; round++) {
    world.clock.advance(1_000);
    await world.deliver(0, flightOf(500, round));
  }
  return world;
}

/** More than are read before a part is looked at alone, and fewer than are read then. */
const BAD_READS = 12;

/** Damages a part that lies in a base before HEAD's own, and what older bases have of its range. */
async function loseColdPart(world: QueryWorld, view = 'by_origin'): Promise<void> {
  const { objects } = world.blobs;
  const head = await world.head(0);
  const { manifest } = await load(plan, head, world.blobs);
  const cold = manifest.parts.filter(({ bytes, layout }) => {
    const isOfView = manifest.layouts[layout]?.name === view;
    return isOfView && bytes !== null && bytes.pack.epoch < (head.base?.epoch ?? 0);
  });
  const lost = cold[Math.floor(cold.length / 2)]?.from as EntryBound;
  for (const { key } of await objects.list(`${head.sliceId}/base/`, null, 1_000)) {
    const bytes = (await objects.read(key)) as Uint8Array;
    const name = parseBlobKey(head.sliceId, key) as BlobName;
    const base = decodeBase(bytes, head.sliceId, referenceOf(name, 'object', bytes));
    const { layouts, parts } = base.manifest;
    const own = parts.filter(({ layout }) => layouts[layout]?.name === view);
    const part = own.findLast(({ from }) => {
      return from === null || compareBound(from, lost.windowStartMs, lost.key) <= 0;
    });
    if (part?.bytes?.pack.epoch !== name.epoch) continue;
    const at = part.bytes.offset + 7;
    await objects.delete([key]);
    await objects.create(
      key,
      bytes.map((byte, index) => (index === at ? byte ^ 1 : byte)),
    );
  }
}

function expectHonest(answer: Parameters<typeof expectRightOutside>[0], world: QueryWorld): void {
  expectRightOutside(answer, groupedRows('by_origin', world.flights()));
}

describe('a part that is lost for good', () => {
  it('stops no slice: its rows are named, in every answer, and all others go on exactly', async () => {
    const world = await coldWorld();
    await loseColdPart(world);
    world.restart();
    await world.deliver(0, flightOf(3, 1), flightOf(310, 5), flightOf(900, 9));
    for (let round = 0; round < 8; round++) await world.deliver(0, flightOf(round, round));
    const everything = [{ limit: '10000' }, { limit: '10000', order: 'total' }];
    for (const asking of everything) {
      expectHonest(await answerOf(world.newQueries(), 'by_origin', asking), world);
    }
    const pages = await pagesOf(
      [world.newQueries()],
      'by_origin',
      { limit: '100' },
      async () => {},
    );
    for (const { incomplete } of pages) expect(incomplete).toContain('damaged');
    // One that has followed the deltas all the while.
    expectHonest(await answerOf(world.queries, 'by_origin', { limit: '10000' }), world);
    // Another environment takes the slice over, with a full checkpoint of its own.
    world.restart();
    await world.checkpoint(0);
    expectHonest(await answerOf(world.newQueries(), 'by_origin', { limit: '10000' }), world);
  });

  it('is of no matter for what does not ask for its rows', async () => {
    const world = await coldWorld();
    await loseColdPart(world);
    world.restart();
    await world.deliver(0, flightOf(3, 1));
    for (const asking of [{ 'key.origin': 'O0003' }, { prefix: 'O05' }]) {
      const { damaged, rows } = await answerOf(world.newQueries(), 'by_origin', asking);
      expect(damaged).toBeUndefined();
      const wanted = 'prefix' in asking ? 'O05' : 'O0003';
      const expected = groupedRows('by_origin', world.flights()).filter(({ key }) =>
        String(key['origin']).startsWith(wanted),
      );
      expect(rows.map(plainRow)).toEqual(expected);
    }
    const other = await answerOf(world.newQueries(), 'in_all', {});
    expect(other.damaged).toBeUndefined();
    expect(other.rows.map(plainRow)).toEqual(groupedRows('in_all', world.flights()));
  });

  it('is written down once, under the revision that was read, by an owner alone', async () => {
    const world = await coldWorld();
    await loseColdPart(world);
    const before = await world.head(0);
    await answerOf(world.newQueries(), 'by_origin', { limit: '10000' });
    expect((await world.head(0)).revision).toBe(before.revision);
    world.restart();
    const { lostParts } = await world.checkpoint(0);
    expect(lostParts).toBe(1);
    const head = await world.head(0);
    const { manifest, parts } = await load(plan, head, world.blobs);
    expect(manifest.lost).toHaveLength(1);
    expect(parts.lost.flat()).toHaveLength(1);
    expect((await loadOverlay(plan, head, world.blobs)).parts.lost).toEqual(parts.lost);
    world.restart();
    expect((await world.checkpoint(0)).lostParts).toBe(0);
  });

  it('is not given up where it only comes badly for a while', async () => {
    const world = await coldWorld();
    const { objects } = world.blobs;
    const readRange = objects.readRange.bind(objects);
    const { manifest } = await load(plan, await world.head(0), world.blobs);
    const { offset } = manifest.parts.find(({ bytes }) => bytes?.pack.epoch === 1)?.bytes ?? {};
    let left = BAD_READS;
    objects.readRange = async (key, from, to) => {
      const bytes = await readRange(key, from, to);
      const isBad =
        from === offset && key.includes('-000000000001-') && bytes !== null && left-- > 0;
      return isBad ? bytes.map((byte) => byte ^ 1) : bytes;
    };
    world.restart();
    for (let tries = 0; tries < 5; tries++) {
      await world.deliver(0, flightOf(3, tries)).catch((fault: unknown) => {
        if (!(fault instanceof CorruptStateFault)) throw fault;
      });
    }
    const { damaged } = await answerOf(world.newQueries(), 'by_origin', { limit: '10000' });
    expect(damaged).toBeUndefined();
  });

  it('is not given up where the stream still has all records', async () => {
    // All epochs are kept, back to the first.
    const world = await wholeWorld(10 ** 9);
    await loseColdPart(world);
    world.restart();
    await world.deliver(0, flightOf(3, 1));
    const { damaged, rows } = await answerOf(world.newQueries(), 'by_origin', { limit: '10000' });
    expect(damaged).toBeUndefined();
    expect(rows.map(plainRow)).toEqual(groupedRows('by_origin', world.flights()));
  });

  it('is a fault where more than a part of entries is damaged', async () => {
    const world = await coldWorld();
    await loseColdPart(world);
    const { base, sliceId } = await world.head(0);
    await world.blobs.objects.delete([blobKey(sliceId, base as NonNullable<typeof base>)]);
    world.restart();
    await expect(world.deliver(0, flightOf(3, 1))).rejects.toThrow(CorruptStateFault);
  });

  it('leaves its rows named once their window has closed and lies in a run, and no later window', async () => {
    const world = await coldWorld();
    await loseColdPart(world, 'by_route');
    world.restart();
    const later = (round: number) => ({ ...flightOf(round), t: 100_000 + round });
    for (let round = 0; round < 6; round++) await world.deliver(0, later(round));
    const { manifest, image } = await load(plan, await world.head(0), world.blobs);
    expect(manifest.runs.length).toBeGreaterThan(0);
    expect(image.tables[1]?.windowStarts()).toEqual([100_000]);
    const [all, first, last] = await Promise.all(
      [{}, { end: '1970-01-01T00:00:10Z' }, { start: '1970-01-01T00:01:00Z' }].map((asking) =>
        answerOf(world.newQueries(), 'by_route', { limit: '10000', ...asking }),
      ),
    );
    expect(all?.damaged).toHaveLength(1);
    expect(first?.damaged).toEqual(all?.damaged);
    expect(last?.damaged).toBeUndefined();
    expect(last?.rows).toHaveLength(6);
    expect(first?.rows.length).toBeLessThan(600);
  });
});
