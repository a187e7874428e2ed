/**
 * What a warm reader takes for pages and orders over many open groups, and what the first question pays for its index. Beside
 * it what readers did before: an order merged all groups into a table first, and a page looked at every key.
 *
 *   npm run bench -- queries [partials] [slices]
 */
import { MemoryPorts } from '../adapters/memory/memory-ports.ts';
import { compareBytes } from '../core/bytes.ts';
import { emptyCheckpoint } from '../core/checkpoint/restore.ts';
import { RunCache } from '../core/checkpoint/run-cache.ts';
import { RowIndexes } from '../core/query/row-indexes.ts';
import type { SlicePart } from '../core/query/row-sources.ts';
import { parseViewRequest } from '../core/query/view-request.ts';
import type { ViewRow } from '../core/query/view-row.ts';
import { type RowPage, readRows } from '../core/query/view-rows.ts';
import { encodeGroupKey } from '../core/state/group-key.ts';
import { ViewTable } from '../core/state/view-table.ts';
import { devicePlan } from './devices/device-pipeline.ts';

const ROUNDS = 7;
const PAGED_GROUPS = 400_000;
const NEW_KEYS = 10_000;
const [partials = 1_000_000, slices = 4] = process.argv.slice(2).map(Number);
const plan = devicePlan();
const view = plan.views[0] as (typeof plan.views)[number];
const runs = new RunCache(new MemoryPorts(0).blobs);

/** `groupOf` says which group a partial is of; partials of a group that come again are in the next slice. */
async function measure(
  what: string,
  sliceCount: number,
  groupOf: (index: number) => number,
  count: number,
): Promise<void> {
  const parts = Array.from({ length: sliceCount }, (_, index) => emptyPart(index));
  for (let index = 0; index < count; index++) {
    // In an order that is not that of the keys.
    const place = (index * 7_919) % count;
    const group = groupOf(place);
    const slice = (group + Math.floor(place / (groupOf(count - 1) + 1))) % sliceCount;
    addDevice(parts[slice] as SlicePart, group);
  }
  const before = {
    page: await median(async () => countFirst(parts)),
    order: await median(async () => mergeAll(parts)),
  };
  const reader = new Reader(parts);
  console.log(`\n${what}`);
  const orders = {
    'order=-total&limit=10': await median(() => reader.ask({ order: '-total', limit: '10' })),
    'order=total&limit=500': await median(() => reader.ask({ order: 'total', limit: '500' })),
    'order=records&limit=500, all equal': await median(() =>
      reader.ask({ order: 'records', limit: '500' }),
    ),
  };
  const first = await timed(() => reader.ask({ limit: '500' }));
  console.log(`  first page of 500, which sorts all keys: ${first.toFixed(0)} ms`);
  const page = await reader.ask({ limit: '500' });
  const pages = {
    'limit=10': await median(() => reader.ask({ limit: '10' })),
    'limit=500': await median(() => reader.ask({ limit: '500' })),
    'limit=500, the page after it': await median(() => reader.ask({ limit: '500' }, page)),
  };
  show(pages, before.page);
  show(orders, before.order);
  for (let index = 0; index < NEW_KEYS; index++) {
    addDevice(parts[index % sliceCount] as SlicePart, count * 2 + index * 31);
  }
  reader.follow();
  const following = await timed(() => reader.ask({ limit: '500' }));
  console.log(`  page of 500 after ${NEW_KEYS} new keys: ${following.toFixed(1)} ms`);
}

async function allPages(): Promise<void> {
  const part = emptyPart(0);
  for (let index = 0; index < PAGED_GROUPS; index++) {
    addDevice(part, (index * 7_919) % PAGED_GROUPS);
  }
  const reader = new Reader([part]);
  let rows = 0;
  const taken = await timed(async () => {
    let page: RowPage | undefined;
    do {
      page = await reader.ask({ limit: '500' }, page);
      rows += page.rows.length;
    } while (page.hasMore);
  });
  console.log(`\nall pages of ${rows} groups, 500 each: ${(taken / 1_000).toFixed(2)} s`);
}

class Reader {
  readonly #indexes = new RowIndexes();
  #parts: readonly SlicePart[];

  constructor(parts: readonly SlicePart[]) {
    this.#parts = parts;
  }

  /** The images have moved on. */
  follow(): void {
    this.#parts = this.#parts.map((part) => ({ ...part, checkpoint: { ...part.checkpoint } }));
  }

  ask(asking: Record<string, string>, after?: RowPage): Promise<RowPage> {
    const request = parseViewRequest(plan, view.name, Object.entries(asking));
    if (!request.ok) throw new Error(request.problem.detail);
    const last = after?.rows.at(-1) as ViewRow | undefined;
    const next =
      last === undefined
        ? null
        : {
            issuedMs: 0,
            questionHash: '',
            after: last.position,
            fingerprint: '',
            isListed: true,
            slices: [],
          };
    const reading = { runs, isLost: () => false, indexes: this.#indexes };
    return readRows({ ...request.value, next }, this.#parts, reading);
  }
}

function emptyPart(index: number): SlicePart {
  return { pinned: { sliceId: `slice-${index}` }, checkpoint: emptyCheckpoint(plan) };
}

function addDevice({ checkpoint }: SlicePart, device: number): void {
  const table = checkpoint.image.tables[0] as ViewTable;
  const slot = table.insert(0, encodeGroupKey([`device-${String(device).padStart(7, '0')}`]));
  for (const column of view.columns.keys()) table.add(slot, column, (device * 31) % 100_003);
}

/** As an order did: all groups into one table. */
function mergeAll(parts: readonly SlicePart[]): number {
  const merged = new ViewTable(view);
  for (const { checkpoint } of parts) {
    const table = checkpoint.image.tables[0] as ViewTable;
    const keys = table.window(0);
    for (let ordinal = 0; ordinal < keys.size; ordinal++) {
      const key = keys.keyAt(ordinal);
      const slot = merged.find(0, key);
      if (slot >= 0) merged.mergeFrom(slot, table, keys.slotAt(ordinal));
      else merged.copyFrom(merged.insert(0, key), table, keys.slotAt(ordinal));
    }
  }
  return merged.entryCount;
}

/** As a page did: each key is held against one. */
function countFirst(parts: readonly SlicePart[]): number {
  let count = 0;
  for (const { checkpoint } of parts) {
    const keys = (checkpoint.image.tables[0] as ViewTable).window(0);
    const last = keys.keyAt(0);
    for (let ordinal = 0; ordinal < keys.size; ordinal++) {
      if (compareBytes(keys.keyAt(ordinal), last) < 0) count++;
    }
  }
  return count;
}

function show(taken: Record<string, number>, beforeMs: number): void {
  for (const [what, ms] of Object.entries(taken)) {
    const ratio = beforeMs / ms;
    console.log(
      `  ${what}: ${ms.toFixed(1)} ms; before at least ${beforeMs.toFixed(0)} ms, ${ratio.toPrecision(2)} times`,
    );
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}

async function median(work: () => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let round = 0; round < ROUNDS; round++) taken.push(await timed(work));
  return taken.sort((a, b) => a - b)[ROUNDS >> 1] as number;
}

await measure(`${partials} groups in one slice`, 1, (index) => index, partials);
await measure(
  `${partials} groups, each in one of ${slices} slices`,
  slices,
  (index) => index,
  partials,
);
const groups = Math.ceil(partials / slices);
await measure(
  `${groups} groups, each in all of ${slices} slices`,
  slices,
  (index) => index % groups,
  partials,
);
await allPages();
