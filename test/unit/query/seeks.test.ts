import { describe, expect, it } from 'vitest';
import type { OpenPart } from '../../../core/checkpoint/open-parts.ts';
import type { StoredPart } from '../../../core/checkpoint/overlay.ts';
import type { BlobStore, ObjectStore } from '../../../core/ports.ts';
import { PartCursor } from '../../../core/query/part-cursor.ts';
import { allParts, firstParts, lanesOf } from '../../../core/query/part-lanes.ts';
import { decideSeek } from '../../../core/query/seek-decision.ts';
import type { EntryBound } from '../../../core/state/entry-bound.ts';
import { hashKey, KeyTable } from '../../../core/state/key-table.ts';
import { PartIndex } from '../../../core/state/part-index.ts';
import { EpochWindows } from '../../../core/time/window.ts';
import { expectRightOutside } from './damaged-answer.ts';
import {
  answerOf,
  type Flight,
  groupedRows,
  pagesOf,
  plainRow,
  QueryWorld,
} from './query-world.ts';

const key = (text: string) => new TextEncoder().encode(text);

/** A part whose entries have no accumulators: of each window, keys. */
function partOf(from: EntryBound | null, windows: readonly [number, readonly string[]][]) {
  const bytes = [windows.length];
  let entryCount = 0;
  for (const [startMs, keys] of windows) {
    bytes.push(0, startMs, keys.length);
    for (const each of keys) bytes.push(each.length, ...key(each), 0);
    entryCount += keys.length;
  }
  const part = { from, entryCount, bytes: {}, stored: {} } as unknown as StoredPart;
  return { part, bytes: Uint8Array.from(bytes), entryCount };
}

describe('whether a question seeks', () => {
  it.each([
    ['one part of many', false, 100, 10, 0, true],
    ['half of the parts', false, 100, 50, 0, true],
    ['more than half', false, 100, 51, 0, false],
    ['what was read already is nearly all', false, 100, 10, 91, false],
    ['what was read already leaves room', false, 100, 10, 90, true],
    ['nothing: all of it is kept', false, 100, 0, 100, true],
    ['an order', true, 100, 1, 0, false],
    ['a slice without parts', false, 0, 0, 0, true],
  ] as const)('%s', (_, isOrdered, partBytes, wantedBytes, readBytes, seeks) => {
    expect(decideSeek({ isOrdered, partBytes, wantedBytes, readBytes })).toBe(seeks);
  });
});

describe('the lanes of parts', () => {
  const bounds: (EntryBound | null)[] = [
    null,
    { windowStartMs: 20, key: key('k') },
    { windowStartMs: 20, key: key('p') },
    { windowStartMs: 50, key: key('c') },
  ];
  const ranges = bounds.map((from) => ({ from, bytes: {} }) as OpenPart);
  const numbers = (parts: readonly OpenPart[]) => parts.map((part) => ranges.indexOf(part) + 1);
  const lanes = (
    [fromMs, toMs]: readonly [number, number],
    [from, to]: readonly [string | null, string | null] = [null, null],
  ) => {
    const found = lanesOf(
      ranges,
      { fromMs, toMs, assigner: new EpochWindows(10) },
      { from: from === null ? null : key(from), to: to === null ? null : key(to) },
    );
    return {
      known: found.known.map(({ windowStartMs, parts }) => [windowStartMs, numbers(parts)]),
      opaque: numbers(found.opaque),
      first: numbers(firstParts(found)),
      all: numbers(allParts(found)),
    };
  };

  it('are those of windows that parts begin in, and parts that may hold others', () => {
    expect(lanes([Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY])).toEqual({
      known: [
        [20, [1, 2, 3]],
        [50, [3, 4]],
      ],
      opaque: [1, 3, 4],
      first: [1, 3, 4],
      all: [1, 3, 4, 2],
    });
  });

  it('are only of wanted windows and keys', () => {
    expect(lanes([20, 30])).toMatchObject({ known: [[20, [1, 2, 3]]], opaque: [], first: [1] });
    expect(lanes([20, 30], ['l', 'm'])).toMatchObject({ known: [[20, [2]]], opaque: [] });
    expect(lanes([20, 30], ['p', null])).toMatchObject({ known: [[20, [3]]] });
    expect(lanes([20, 30], [null, 'k'])).toMatchObject({ known: [[20, [1]]] });
    expect(lanes([30, 40])).toMatchObject({ known: [], opaque: [3] });
    expect(lanes([60, 70])).toMatchObject({ known: [], opaque: [4] });
  });
});

describe('the cursor of a part', () => {
  async function shown(
    parts: readonly ReturnType<typeof partOf>[],
    overlay = new KeyTable(),
    before: string | null = null,
  ): Promise<string[]> {
    const cursor = new PartCursor(
      { windowStartMs: 1, parts: parts.map(({ part }) => part) },
      { from: null, to: null },
      before === null ? null : { key: key(before), windowStartMs: 1 },
      {
        overlay,
        own: (_, accumulators) => accumulators,
        open: async (part) => {
          const found = parts.find((each) => each.part === part);
          return found === undefined ? null : new PartIndex(found.bytes, found.entryCount);
        },
      },
    );
    const keys: string[] = [];
    const take = () => {
      keys.push(new TextDecoder().decode(cursor.bytes.subarray(cursor.start, cursor.end)));
    };
    while (await cursor.load()) {
      take();
      while (cursor.next()) take();
    }
    return keys;
  }

  it('leaves out what lies before the part begins, of its window and of those before it', async () => {
    const written = partOf(null, [[1, ['a', 'b']]]);
    const rest = partOf({ windowStartMs: 1, key: key('c') }, [[1, ['a', 'b', 'c', 'd']]]);
    expect(await shown([written, rest])).toEqual(['a', 'b', 'c', 'd']);
    const later = partOf({ windowStartMs: 2, key: key('a') }, [[1, ['x']]]);
    expect(await shown([later])).toEqual([]);
  });

  it('leaves out what the overlay has, and rows that were shown', async () => {
    const overlay = new KeyTable();
    overlay.add(key('b'), 1, hashKey(key('b')), 0);
    const part = partOf(null, [
      [0, ['z']],
      [1, ['a', 'b', 'c']],
    ]);
    expect(await shown([part], overlay)).toEqual(['a', 'c']);
    expect(await shown([part], overlay, 'a')).toEqual(['c']);
    expect(await shown([part], overlay, 'aa')).toEqual(['c']);
  });

  it('refuses parts that are not in order', async () => {
    const asked = [
      partOf(null, [[1, ['b', 'a']]]),
      partOf(null, [
        [1, ['a']],
        [1, ['b']],
      ]),
    ];
    for (const part of asked) await expect(shown([part])).rejects.toThrow('a-part-is-in-order');
    const fewer = { ...partOf(null, [[1, ['a', 'b']]]), entryCount: 1 };
    await expect(shown([fewer])).rejects.toThrow('entries of its manifest');
  });
});

/** Groups in several parts, some of which changed after these were written. */
async function worldOfParts(): Promise<QueryWorld> {
  const world = new QueryWorld({ partBytesMax: 2_000, chainLengthMax: 8 });
  const flights = Array.from({ length: 1_000 }, (_, index): Flight => {
    return { t: 1_000, origin: `O${String(index).padStart(4, '0')}`, to: 'X', delay: index };
  });
  await world.deliver(0, ...flights);
  await world.checkpoint(0);
  await world.deliver(0, { t: 1_000, origin: 'O0500', to: 'X', delay: 7 });
  return world;
}

/** The stores, with bytes of objects counted, and those in a range damaged. */
function counted(world: QueryWorld, damages: (from: number) => boolean = () => false) {
  const read = { bytes: 0, calls: 0 };
  const objects: ObjectStore = new Proxy(world.blobs.objects, {
    get(target, name) {
      const method = Reflect.get(target, name) as (...given: unknown[]) => unknown;
      if (name !== 'read' && name !== 'readRange') return method.bind(target);
      return async (...given: unknown[]) => {
        const bytes = (await method.apply(target, given)) as Uint8Array | null;
        read.bytes += bytes?.length ?? 0;
        read.calls++;
        if (bytes !== null && name === 'readRange' && damages(given[1] as number)) {
          return bytes.map((byte, index) => (index === 5 ? byte ^ 1 : byte));
        }
        return bytes;
      };
    },
  });
  const blobs: { items: BlobStore; objects: ObjectStore } = { items: world.blobs.items, objects };
  return { read, queries: () => world.newQueries({ blobs }) };
}

describe('a reader without an image', () => {
  it('reads what a page shows, and its next what that shows, without the base', async () => {
    const world = await worldOfParts();
    const expected = groupedRows('by_origin', world.flights());
    const { read, queries } = counted(world);
    await answerOf(queries(), 'by_origin', { order: '-total', limit: '1' });
    const whole = read.bytes;
    const asked = async (asking: Record<string, string>) => {
      read.bytes = 0;
      const { rows } = await answerOf(queries(), 'by_origin', asking);
      expect(read.bytes).toBeLessThan(whole / 4);
      return rows.map(plainRow);
    };
    expect(await asked({ limit: '10' })).toEqual(expected.slice(0, 10));
    expect(await asked({ 'key.origin': 'O0500' })).toEqual(expected.slice(500, 501));
    expect(await asked({ prefix: 'O050', limit: '3' })).toEqual(expected.slice(500, 503));
    // A reader of its own for each page.
    const pages = await pagesOf(
      Array.from({ length: 20 }, () => queries()),
      'by_origin',
      { limit: '100' },
      async () => {
        await world.deliver(0, { t: 1_000, origin: 'later', to: 'X', delay: 1 });
      },
    );
    expect(pages.flatMap(({ rows }) => rows.map(plainRow))).toEqual(expected);
    expect(pages).toHaveLength(10);
  });

  it('is warm once it has read as much as that takes', async () => {
    const world = await worldOfParts();
    const { read, queries } = counted(world);
    const reader = queries();
    const asking = { limit: '10' };
    await answerOf(reader, 'by_origin', asking);
    const page = read.bytes;
    await answerOf(reader, 'by_origin', asking);
    // The part is kept.
    expect(read.bytes).toBe(page);
    for (let origin = 0; origin < 1_000; origin += 20) {
      await answerOf(reader, 'by_origin', { prefix: `O${String(origin).padStart(4, '0')}` });
    }
    read.bytes = 0;
    const { rows } = await answerOf(reader, 'by_origin', { limit: '10000' });
    expect(rows.map(plainRow)).toEqual(groupedRows('by_origin', world.flights()));
    expect(read.bytes).toBe(0);
  });

  it('says which rows a damaged part had, in pages and in an order, and all others are right', async () => {
    const world = await worldOfParts();
    const offsets = new Set<number>();
    const all = counted(world, (from) => {
      offsets.add(from);
      return false;
    });
    await answerOf(all.queries(), 'by_origin', { order: 'total' });
    const expected = groupedRows('by_origin', world.flights());
    const bad = [...offsets].sort((a, b) => a - b)[3] as number;
    // Whatever part is read there, alone or with its neighbours.
    const { queries } = counted(world, (from) => from === bad);
    for (const asking of [{ limit: '10000' }, { limit: '10000', order: 'total' }]) {
      expectRightOutside(await answerOf(queries(), 'by_origin', asking), expected);
    }
  });
});
