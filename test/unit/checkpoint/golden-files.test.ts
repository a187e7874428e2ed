import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { MemoryBlobStore } from '../../../adapters/memory/memory-blob-store.ts';
import { MemoryClock } from '../../../adapters/memory/memory-clock.ts';
import { FORMAT_VERSION } from '../../../core/bytes.ts';
import { readBlob } from '../../../core/checkpoint/blobs.ts';
import { parseHead } from '../../../core/checkpoint/head.ts';
import { load, restore } from '../../../core/checkpoint/restore.ts';
import { RunReader } from '../../../core/checkpoint/run.ts';
import {
  type ClosedEntry,
  closedEntriesOf,
  mergeClosedEntries,
} from '../../../core/state/closed-entries.ts';
import { decodeGroupKey } from '../../../core/state/group-key.ts';
import { ViewTable } from '../../../core/state/view-table.ts';
import { SLICE } from '../../world/small-log.ts';
import { type GoldenObjects, goldenPlan, storeGoldenSlice } from './golden-slice.ts';

const FOLDER = fileURLToPath(new URL('../../golden/', import.meta.url));
const VERSION = `v${FORMAT_VERSION}`;

/** Files of the slice: its blobs in their order by key, and HEAD. */
const FILES = {
  'base-2': `${SLICE}/base/000000000000-000000000002-0000000000000003`,
  'delta-1': `${SLICE}/delta/000000000000-000000000001-0000000000000002`,
  'delta-2': `${SLICE}/delta/000000000000-000000000002-0000000000000003`,
  'run-2': `${SLICE}/run/000000000000-000000000002-0000000000000003`,
} as const;

const toHex = (bytes: Uint8Array) =>
  `${(
    Buffer.from(bytes)
      .toString('hex')
      .match(/.{1,64}/g) ?? []
  ).join('\n')}\n`;
const fromHex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll('\n', ''), 'hex'));
const pathOf = (name: string) => `${FOLDER}${VERSION}/${name}.hex`;
const readGolden = (name: string) => fromHex(readFileSync(pathOf(name), 'utf8'));

let today: GoldenObjects;

function bytesToday(name: string): Uint8Array {
  const key = FILES[name as keyof typeof FILES];
  return name === 'head' ? today.head.body : (today.blobs.get(key) as Uint8Array);
}

const NAMES = ['head', ...Object.keys(FILES)];

beforeAll(async () => {
  today = await storeGoldenSlice();
  if (process.env['TIDEMARK_GOLDEN'] !== 'write') return;
  mkdirSync(`${FOLDER}${VERSION}`, { recursive: true });
  for (const name of NAMES) writeFileSync(pathOf(name), toHex(bytesToday(name)));
});

/** The stores as the golden files have them. */
async function goldenStores() {
  const clock = new MemoryClock(0);
  const blobs = { items: new MemoryBlobStore(clock), objects: new MemoryBlobStore(clock) };
  for (const [name, key] of Object.entries(FILES)) {
    const store = name.startsWith('delta') ? blobs.items : blobs.objects;
    await store.create(key, readGolden(name));
  }
  const head = parseHead({
    sliceId: SLICE,
    revision: 3,
    delivered: '49590338271490256608559692538361571095921575989136588021.0000000000',
    body: readGolden('head'),
  });
  return { head, blobs };
}

function rowsOf(view: (typeof goldenPlan.views)[0], entries: readonly ClosedEntry[]): unknown[] {
  return mergeClosedEntries(view, entries).map(({ key, windowStartMs, accumulators }) => {
    const table = new ViewTable(view);
    table.decode(table.insert(0, new Uint8Array()), accumulators);
    const values = table.results(0).map(({ value }) => value);
    return [...decodeGroupKey(key), windowStartMs, ...values];
  });
}

const NONE = { '0': null, '0.5': null, '1': null };

/**
 * Counted by hand. By view: key, window, then the results in the order of the aggregates' names. One median is not exact:
 * 1e-300 beside 3 lies in the lowest bin that a sketch keeps.
 */
const ROWS = {
  all_time: [
    [false, 9_007_199_254_740_991, 0, 1, null, null, null, null, NONE],
    [true, '__proto__', 0, 1, -2.5, -2.5, -2.5, -2.5, { '0': -2.5, '0.5': -2.5, '1': -2.5 }],
    ['x', null, 0, 2, 3, 1.5, 1e-300, 3, { '0': 1e-300, '0.5': 7.436557759258251e-18, '1': 3 }],
    ['x', 0, 0, 1, 4, 4, 4, 4, { '0': 4, '0.5': 4, '1': 4 }],
    ['x\0\ud800é😀', -1.5, 0, 1, 0.1, 0.1, 0.1, 0.1, { '0': 0.1, '0.5': 0.1, '1': 0.1 }],
  ],
  daily: [
    [-90_000_000, 0],
    [-3_600_000, 5],
  ],
  windowed: [
    [false, -90_000_000, 1, null],
    [true, 120_000, 1, -2.5],
    ['x', 0, 2, 7],
    ['x', 120_000, 1, 1e-300],
    ['x\0\ud800é😀', 0, 1, 0.1],
  ],
};

it('there are golden files of the version that is read, and of no other', () => {
  const folders = readdirSync(FOLDER).filter((name) => name !== 'README.md');
  expect(folders).toEqual([VERSION]);
});

describe('what the golden files hold', () => {
  it('is the slice that it was', async () => {
    const { head, blobs } = await goldenStores();
    expect({ ...head, digest: head.digest.value(), base: head.base?.epoch }).toMatchObject({
      epoch: 2,
      timeline: 0,
      status: 'OPEN',
      planHash: '77b37786a30e08cb0c166d6d2f071079',
      digest: { count: 8, sum: '1670969c924532f7' },
      counts: { folded: 6, duplicates: 1, late: 0, quarantined: 1, unmatched: 0, heartbeats: 0 },
      watermarkMs: 130_000,
      base: 2,
    });
    const { image, manifest } = await restore(goldenPlan, head, blobs);
    const [run] = manifest.runs;
    const bytes = await readBlob(blobs, SLICE, run!);
    const reader = new RunReader(SLICE, run!, async (from, to) => bytes.subarray(from, to));
    const rows: Record<string, unknown> = {};
    for (const { view, life, entries: kept } of image.source().views.slice(0, -1)) {
      const stored = await reader.entries({ view, life });
      const entries = [...closedEntriesOf(kept), ...stored];
      rows[view.name] = rowsOf(view, entries);
    }
    expect(rows).toEqual(ROWS);
  });

  it('has the quarantined record of its first epoch, whole', async () => {
    const { head, blobs } = await goldenStores();
    const { chain } = await load(goldenPlan, head, blobs);
    const first = { sliceId: SLICE, base: null, delta: chain[0]! };
    const { quarantined, image } = await load(goldenPlan, first, blobs);
    expect(image.progress.digest.count).toBe(4);
    expect(quarantined).toEqual([
      {
        sequenceNumber: '49590338271490256608559692538361571095921575989136588009',
        subSequence: 0,
        partitionKey: 'pk-3',
        arrivalMs: 1_700_000_000_003,
        reason: 'not-json',
        detail: 'the data is not JSON: "{\\"broken"',
        data: new TextEncoder().encode('{"broken'),
      },
    ]);
  });
});

describe('what is stored today', () => {
  it('are these objects', () => {
    expect([...today.blobs.keys()].sort()).toEqual(Object.values(FILES).sort());
  });

  it.each(NAMES)('has the bytes of the golden file: %s', (name) => {
    const golden = readFileSync(pathOf(name), 'utf8');
    expect(toHex(bytesToday(name))).toBe(golden);
  });
});
