import { describe, expect, it } from 'vitest';
import { writeBlob } from '../../../core/checkpoint/blobs.ts';
import { encodeDelta } from '../../../core/checkpoint/delta.ts';
import { type BlobReference, blobKey } from '../../../core/checkpoint/names.ts';
import { restore } from '../../../core/checkpoint/restore.ts';
import type { BlobStore, CheckpointStore, ObjectStore } from '../../../core/ports.ts';
import type { Queries } from '../../../core/query/queries.ts';
import { SliceReader } from '../../../core/query/slice-reader.ts';
import {
  decodeSnapshotToken,
  encodeSnapshotToken,
  type SnapshotToken,
} from '../../../core/query/snapshot-token.ts';
import type { ViewAnswer } from '../../../core/query/view-answer.ts';
import { closedOf } from '../state/fold-fixture.ts';
import {
  answerOf,
  type Flight,
  groupedRows,
  pagesOf,
  plainRow,
  plan,
  problemOf,
  QueryWorld,
} from './query-world.ts';

const MINUTE_MS = 60_000;

function someFlights(round: number, count = 10): Flight[] {
  return Array.from({ length: count }, (_, index) => ({
    t: round * 4_000 + index * 300,
    origin: `O${(index * 3 + round) % 8}`,
    to: `T${index % 2}`,
    delay: index + round,
  }));
}

/** Two shards with closed windows, runs and open ones. */
async function worldOfRounds(rounds: number, knobs = {}): Promise<QueryWorld> {
  const world = new QueryWorld(knobs);
  for (let round = 0; round < rounds; round++) {
    for (const shard of [0, 1]) await world.deliver(shard, ...someFlights(round));
  }
  return world;
}

/** The same store, with something done before each call of one of the named methods. */
function disturbed<T extends object>(
  target: T,
  names: string,
  run: (...args: unknown[]) => Promise<void>,
): T {
  return new Proxy(target, {
    get(object, name) {
      const method = Reflect.get(object, name) as (...args: unknown[]) => unknown;
      if (!names.split(' ').includes(String(name))) return method.bind(object);
      return async (...args: unknown[]) => {
        await run(...args);
        return method.apply(object, args);
      };
    },
  });
}

describe('a snapshot', () => {
  it.each([{}, { order: '-total' }])(
    'stays the same over all pages of %o while slices move on',
    async (order) => {
      const world = await worldOfRounds(6);
      const whole = await answerOf(world.queries, 'by_route', { ...order, limit: '10000' });
      let round = 6;
      const readers = [world.queries, world.newQueries()];
      const pages = await pagesOf(readers, 'by_route', { ...order, limit: '4' }, async () => {
        for (const shard of [0, 1]) await world.deliver(shard, ...someFlights(round));
        if (round % 4 === 0) await world.checkpoint(round % 2);
        // Somebody else's newest snapshot moves the warm images in between.
        const newest = await answerOf(world.queries, 'by_route', { limit: '10000' });
        expect(newest.rows.map(plainRow)).toEqual(groupedRows('by_route', world.flights()));
        round++;
      });
      expect(pages.length).toBeGreaterThan(8);
      expect(pages.flatMap(({ rows }) => rows)).toEqual(whole.rows);
      for (const page of pages) {
        expect(page.watermark).toBe(whole.watermark);
      }
    },
  );

  it('is found again by environments that know nothing of it, however far slices have moved on', async () => {
    const world = await worldOfRounds(6, { chainLengthMax: 4 });
    await world.openSlice(2);
    const whole = await answerOf(world.queries, 'by_route', { limit: '10000' });
    const rows: ViewAnswer['rows'][number][] = [];
    const moves: number[] = [];
    let next: string | null = null;
    do {
      const asked = { limit: '4', ...(next === null ? {} : { next }) };
      const page: ViewAnswer = await answerOf(world.newQueries(), 'by_route', asked);
      rows.push(...page.rows);
      next = page.next;
      expect(page).toMatchObject({ watermark: whole.watermark, exempt: whole.exempt });
      // At first only one slice moves on, within its chain; then both, past several bases.
      await world.deliver(0, ...someFlights(6 + moves.length, 2));
      // At last further than the deltas reach that HEAD's own names.
      for (let more = 0; moves.length === 4 && more < 24; more++) {
        await world.deliver(0, ...someFlights(20 + more, 1));
      }
      if (moves.length > 2) await world.deliver(1, ...someFlights(6 + moves.length, 2));
      moves.push((await world.head(0)).base?.epoch ?? 0);
    } while (next !== null);
    expect(rows).toEqual(whole.rows);
    expect(new Set(moves).size).toBeGreaterThan(2);
  });

  it('is told from a flip that lost the race for its epoch, and is gone where it cannot be', async () => {
    const world = await worldOfRounds(3, { chainLengthMax: 2 });
    const whole = await answerOf(world.queries, 'by_origin');
    const { rows, next } = await answerOf(world.queries, 'by_origin', { limit: '2' });
    const { delta, sliceId } = await world.head(0);
    const name = delta as BlobReference;
    // Of the same number, and before the other in the order of names.
    const lost = { ...name, nonce: `${'0'.repeat(14)}fe` };
    const bytes = (await world.blobs.items.read(blobKey(sliceId, name))) as Uint8Array;
    await world.blobs.items.create(blobKey(sliceId, lost), bytes);
    for (let round = 3; round < 12; round++) await world.deliver(0, ...someFlights(round));
    const rest = await answerOf(world.newQueries(), 'by_origin', { next: next as string });
    expect([...rows, ...rest.rows]).toEqual(whole.rows);

    const token = decodeSnapshotToken(next as string) as SnapshotToken;
    const other = encodeSnapshotToken({ ...token, fingerprint: '0'.repeat(16) });
    expect(await problemOf(world.newQueries(), 'by_origin', { next: other })).toMatchObject({
      status: 410,
      code: 'snapshot-gone',
    });
  });

  it('lets the limit change from page to page', async () => {
    const world = await worldOfRounds(3);
    const whole = await answerOf(world.queries, 'by_origin');
    const first = await answerOf(world.queries, 'by_origin', { limit: '2' });
    const rest = await answerOf(world.queries, 'by_origin', {
      limit: '100',
      next: first.next as string,
    });
    expect([...first.rows, ...rest.rows]).toEqual(whole.rows);
    expect(rest.next).toBeNull();
  });

  it('ends where the last row was the last of a full page', async () => {
    const world = await worldOfRounds(1);
    const { rows } = await answerOf(world.queries, 'by_origin');
    const exact = await answerOf(world.queries, 'by_origin', { limit: String(rows.length) });
    expect(exact.next).toBeNull();
  });

  it('is good for 15 minutes from its first page', async () => {
    const world = await worldOfRounds(2);
    const first = await answerOf(world.queries, 'by_origin', { limit: '2' });
    world.clock.advance(14 * MINUTE_MS);
    const second = await answerOf(world.queries, 'by_origin', {
      limit: '2',
      next: first.next as string,
    });
    world.clock.advance(2 * MINUTE_MS);
    for (const next of [first.next, second.next]) {
      expect(
        await problemOf(world.queries, 'by_origin', { limit: '2', next: next as string }),
      ).toMatchObject({
        status: 410,
        code: 'snapshot-gone',
        path: 'next',
      });
    }
  });

  it('is gone, with a word that says so, where retention has taken it', async () => {
    const world = await worldOfRounds(4, { retentionGraceMs: 1_000 });
    const { next } = await answerOf(world.queries, 'by_route', { limit: '2' });
    for (let round = 4; round < 16; round++) {
      world.clock.advance(2_000);
      for (const shard of [0, 1]) await world.deliver(shard, ...someFlights(round));
    }
    await answerOf(world.queries, 'by_route');
    for (const queries of [world.queries, world.newQueries()]) {
      const problem = await problemOf(queries, 'by_route', { limit: '2', next: next as string });
      expect(problem).toMatchObject({ status: 410, code: 'snapshot-gone' });
    }
  });

  it('of another question is refused', async () => {
    const world = await worldOfRounds(2);
    const next = (await answerOf(world.queries, 'by_origin', { limit: '2', prefix: 'O' }))
      .next as string;
    const others = [
      ['by_origin', { next }],
      ['by_origin', { next, prefix: 'O1' }],
      ['by_origin', { next, prefix: 'O', order: 'total' }],
      ['by_route', { next, prefix: 'O' }],
    ] as const;
    for (const [view, asked] of others) {
      expect(await problemOf(world.queries, view, asked)).toMatchObject({
        status: 400,
        code: 'next-of-another-question',
      });
    }
  });

  it('is refused when its token was cut, changed or made up', async () => {
    const world = await worldOfRounds(2);
    const next = (await answerOf(world.queries, 'by_origin', { limit: '2' })).next as string;
    const flipped = next.slice(0, 20) + (next[20] === 'A' ? 'B' : 'A') + next.slice(21);
    for (const wrong of [
      '',
      'x',
      next.slice(0, -1),
      next.slice(4),
      flipped,
      `${next}A`,
      'é'.repeat(80),
    ]) {
      expect(
        await problemOf(world.queries, 'by_origin', { limit: '2', next: wrong }),
      ).toMatchObject({
        status: 400,
        code: 'wrong-next',
        path: 'next',
      });
    }
  });

  it('of a pipeline whose data is gone is gone', async () => {
    const world = await worldOfRounds(2);
    const next = (await answerOf(world.queries, 'by_origin', { limit: '2' })).next as string;
    const empty = new QueryWorld();
    expect(await problemOf(empty.queries, 'by_origin', { limit: '2', next })).toMatchObject({
      status: 410,
    });
  });
});

describe('a reader', () => {
  /** Each shard has groups of its own, so that an answer shows which prefix of each log it saw. */
  async function push(world: QueryWorld, shard: number, round: number): Promise<void> {
    const mine = (flight: Flight) => ({ ...flight, origin: `shard${shard}${flight.origin}` });
    await world.deliver(shard, ...someFlights(round, 6).map(mine));
  }

  async function expectPrefixes(
    world: QueryWorld,
    queries: Queries,
    held: ReadonlyMap<number, number>,
  ): Promise<void> {
    const { rows } = await answerOf(queries, 'by_route', { limit: '10000' });
    const seen = new Map<string, Flight[]>();
    for (const [shard, all] of world.delivered) {
      const mine = rows.filter(({ key }) => String(key['origin']).startsWith(`shard${shard}`));
      const count = mine.reduce((sum, { values }) => sum + (values['flights'] as number), 0);
      expect(count).toBeGreaterThanOrEqual(held.get(shard) ?? 0);
      seen.set(String(shard), all.slice(0, count) as Flight[]);
    }
    expect(rows.map(plainRow)).toEqual(groupedRows('by_route', [...seen.values()].flat()));
  }

  it('sees each slice whole, whatever is written between any two of its calls', async () => {
    for (let moment = 0; moment < 12; moment++) {
      const world = new QueryWorld({ chainLengthMax: 2 });
      for (let round = 0; round < 4; round++)
        for (const shard of [0, 1]) await push(world, shard, round);
      let calls = 0;
      let isArmed = false;
      const disturb = async () => {
        if (!isArmed || calls++ !== moment) return;
        for (let round = 4; round < 8; round++)
          for (const shard of [0, 1]) await push(world, shard, round);
      };
      const queries = world.newQueries({
        heads: disturbed<CheckpointStore>(world.heads, 'listHeads readHead', disturb),
        blobs: {
          items: disturbed<BlobStore>(world.blobs.items, 'read readRange', disturb),
          objects: disturbed<ObjectStore>(world.blobs.objects, 'read readRange', disturb),
        },
      });
      // Half of the moments find warm images that have to advance.
      if (moment % 2 === 0) await answerOf(queries, 'by_route');
      for (const shard of [0, 1]) await push(world, shard, 3);
      isArmed = true;
      const held = new Map([...world.delivered].map(([shard, all]) => [shard, all.length]));
      await expectPrefixes(world, queries, held);
      expect(calls).toBeGreaterThan(0);
    }
  });

  it.each(['read of items', 'readRange of objects'])(
    'looks at HEAD again when retention was faster than its %s',
    async (call) => {
      const world = new QueryWorld({ retentionGraceMs: 1_000 });
      for (let round = 0; round < 9; round++) {
        for (const shard of [0, 1]) await push(world, shard, round);
      }
      let isArmed = true;
      const outrun = async () => {
        if (!isArmed) return;
        isArmed = false;
        for (let round = 9; round < 30; round++) {
          world.clock.advance(2_000);
          for (const shard of [0, 1]) await push(world, shard, round);
        }
      };
      const [name, place] = call.split(' of ') as [string, 'items' | 'objects'];
      const store = disturbed<BlobStore>(world.blobs[place], name, outrun);
      const queries = world.newQueries({ blobs: { ...world.blobs, [place]: store } });
      const held = new Map([
        [0, 54],
        [1, 54],
      ]);
      await expectPrefixes(world, queries, held);
      expect(isArmed).toBe(false);
    },
  );

  it('answers many requests at once, each whole and all of its pages from one snapshot', async () => {
    const world = await worldOfRounds(3);
    const later = async (key: unknown = '') => {
      // Slice 1 is slow: an image of slice 0 has to wait for it, while other requests want to move it on.
      const ticks = String(key).startsWith('slice-000000000001') ? 9 : 1;
      for (let tick = 0; tick < ticks; tick++) {
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const queries = world.newQueries({
      blobs: {
        items: disturbed<BlobStore>(world.blobs.items, 'read', later),
        objects: disturbed<ObjectStore>(world.blobs.objects, 'read readRange', later),
      },
    });
    const flightsOf = (pages: readonly ViewAnswer[]) =>
      pages
        .flatMap(({ rows }) => rows)
        .reduce((sum, row) => sum + Number(row.values['flights']), 0);
    const counts: Promise<number>[] = [];
    for (let round = 3; round < 15; round++) {
      for (const order of [{}, { order: '-flights' }]) {
        counts.push(pagesOf([queries], 'by_route', { ...order, limit: '9' }).then(flightsOf));
      }
      await world.deliver(round % 2, ...someFlights(round));
      await later();
    }
    for (const count of await Promise.all(counts)) {
      // Batches are ten flights, and are seen whole.
      expect(count % 10).toBe(0);
      expect(count).toBeGreaterThanOrEqual(60);
    }
  });

  it('does not go on with an image that broke off between two epochs', async () => {
    const world = await worldOfRounds(2, { chainLengthMax: 10 });
    const head = await world.head(0);
    const reader = new SliceReader(plan, world.heads, world.blobs);
    await reader.follow(head);
    // Windows close in the delta that the broken one comes after.
    await world.deliver(0, ...someFlights(20));
    const between = await world.head(0);
    const header = {
      sliceId: head.sliceId,
      timeline: 0,
      epoch: between.epoch + 1,
      nonce: 'b'.repeat(16),
      generation: 0,
      planOrdinal: 0,
      planHash: plan.hash,
      predecessors: [
        { ...(head.delta as BlobReference), after: head.epoch - 1 },
        { ...(between.delta as BlobReference), after: head.epoch },
      ],
      merged: null,
      base: between.base,
      manifest: null,
      requestsDone: [],
    };
    const name = { kind: 'delta', timeline: 0, epoch: header.epoch, nonce: header.nonce } as const;
    const bytes = encodeDelta(header, Uint8Array.of(1, 2, 3));
    const delta = await writeBlob(world.blobs, head.sliceId, name, bytes);
    const broken = { ...between, epoch: header.epoch, delta, revision: between.revision + 1 };
    const { head: reached, checkpoint } = await reader.follow(broken);
    expect(reached).toEqual(between);
    const restored = await restore(plan, between, world.blobs);
    expect(checkpoint.image.encode()).toEqual(restored.image.encode());
    expect(closedOf(checkpoint.image)).toEqual(closedOf(restored.image));
    expect(closedOf(restored.image).flat().length).toBeGreaterThan(0);
  });

  it('says that deltas are corrupt and answers nothing, says that parts are and answers the rest, and goes on once they are mended', async () => {
    const world = await worldOfRounds(4);
    const flip = (bytes: Uint8Array | null) => {
      if (bytes === null || bytes.length < 20) return bytes;
      bytes[10] = (bytes[10] as number) ^ 1;
      return bytes;
    };
    let isBroken = true;
    const broken = <Store extends BlobStore>(store: Store): Store =>
      new Proxy(store, {
        get(object, name) {
          const method = (Reflect.get(object, name) as BlobStore['read']).bind(object);
          if (name !== 'read' && name !== 'readRange') return method;
          return async (...args: Parameters<BlobStore['read']>) =>
            isBroken ? flip(await method(...args)) : method(...args);
        },
      });
    const { items, objects } = world.blobs;
    const ofDeltas = world.newQueries({ blobs: { items: broken(items), objects } });
    const problem = await problemOf(ofDeltas, 'by_route');
    expect(problem).toMatchObject({ status: 500, code: 'corrupt-state' });
    const ofParts = world.newQueries({ blobs: { items, objects: broken(objects) } });
    for (const asked of [{ limit: '10000' }, { order: '-total' }]) {
      const partly = await answerOf(ofParts, 'by_route', asked);
      expect(partly.incomplete).toContain('damaged');
      // The checkpoint was written with epoch 3.
      expect(partly.damaged).toContainEqual({
        slice: 'slice-000000000000',
        epoch: 3,
        from: null,
        to: null,
      });
    }
    isBroken = false;
    for (const queries of [ofDeltas, ofParts]) {
      const { rows, damaged } = await answerOf(queries, 'by_route', { limit: '10000' });
      expect(rows.map(plainRow)).toEqual(groupedRows('by_route', world.flights()));
      expect(damaged).toBeUndefined();
    }
  });

  it('says which rows are gone for good with a blob rather than try forever', async () => {
    const world = await worldOfRounds(3);
    const { base, delta } = await world.head(0);
    const { objects, items } = world.blobs;
    const keys = (await objects.list('', null, 1_000)).map(({ key }) => key);
    const before = await answerOf(world.newQueries(), 'by_origin');
    await objects.delete(keys.filter((key) => key.includes(base?.nonce ?? '?')));
    const after = await answerOf(world.queries, 'by_origin');
    const lost = { slice: 'slice-000000000000', epoch: base?.epoch, from: null, to: null };
    expect(after).toMatchObject({ damaged: [lost], incomplete: ['no-windows', 'damaged'] });
    expect(after.rows).not.toEqual(before.rows);
    await items.delete([blobKey('slice-000000000000', delta as BlobReference)]);
    expect(await problemOf(world.newQueries(), 'by_origin')).toMatchObject({
      status: 500,
      code: 'corrupt-state',
      detail: expect.stringContaining('is not there'),
    });
  });
});
