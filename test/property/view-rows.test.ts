import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryPorts } from '../../adapters/memory/memory-ports.ts';
import { referenceOf } from '../../core/checkpoint/blobs.ts';
import type { RunReference } from '../../core/checkpoint/manifest.ts';
import { type BlobName, blobKey } from '../../core/checkpoint/names.ts';
import { type Checkpoint, emptyCheckpoint } from '../../core/checkpoint/restore.ts';
import { RunCache } from '../../core/checkpoint/run-cache.ts';
import { RowIndexes } from '../../core/query/row-indexes.ts';
import type { SlicePart } from '../../core/query/row-sources.ts';
import { parseViewRequest, type ViewRequest } from '../../core/query/view-request.ts';
import { readRows } from '../../core/query/view-rows.ts';
import type { ClosedEntry } from '../../core/state/closed-entries.ts';
import { drainClosing } from '../../core/state/closing.ts';
import { encodeGroupKey, type GroupValue } from '../../core/state/group-key.ts';
import type { ViewLife } from '../../core/state/view-life.ts';
import { ViewTable } from '../../core/state/view-table.ts';
import { parametersOf, plan, WINDOW_MS } from '../unit/query/query-world.ts';
import { encodeRun } from '../world/encoded-run.ts';
import { pagedRows } from './paged-rows.ts';
import { plainRows } from './plain-rows.ts';

const VIEWS = ['by_route', 'by_origin', 'in_all'];

interface Partial {
  readonly origin: GroupValue;
  readonly to: GroupValue;
  readonly window: number;
  readonly values: readonly number[];
  /** Of closed windows: in the image, or in which run. */
  readonly place: number;
}

/** What a slice takes in between two questions: entries, and up to which window they are closed. */
interface Step {
  readonly partials: readonly Partial[];
  readonly closes: number;
  /** Whether late partials go to a run before. */
  readonly compacts: boolean;
  /** Bytes of closing entries that go to a run after. */
  readonly drains: number;
}

const anyPartial = fc.record<Partial>({
  origin: fc.constantFrom<GroupValue[]>(
    'a',
    'ab',
    'abc',
    'b',
    '',
    '7',
    'a\u0000',
    7,
    -2.5,
    true,
    null,
  ),
  to: fc.constantFrom<GroupValue[]>('x', 'y', 2, '2'),
  window: fc.nat(5),
  values: fc.array(fc.integer({ min: -3, max: 9 }), { maxLength: 3 }),
  place: fc.nat(2),
});
const anyStep = fc.record<Step>({
  partials: fc.array(anyPartial, { maxLength: 40 }),
  closes: fc.constantFrom(0, 0, 1, 2),
  compacts: fc.boolean(),
  drains: fc.constantFrom(0, 1, 100, 300, 10_000),
});
const anySlices = fc.array(fc.array(anyStep, { minLength: 3, maxLength: 3 }), {
  minLength: 1,
  maxLength: 4,
});
const anyTime = fc.nat(6).map((window) => new Date(window * WINDOW_MS).toISOString());
const anyQuestion = fc
  .record(
    {
      'key.origin': fc.constantFrom('a', '7', '[7]', 'null', 'none'),
      'key.to': fc.constantFrom('x', '2'),
      prefix: fc.constantFrom('a', '', '7', '"a"', 't'),
      start: anyTime,
      end: anyTime,
      order: fc.constantFrom(
        'flights',
        '-flights',
        'total',
        '-total',
        'worst',
        '-worst',
        'typical.0.5',
        '-typical.0.99',
      ),
    },
    { requiredKeys: [] },
  )
  .map((asked) => asked as Record<string, string>);
const anyAsking = fc.record({
  view: fc.constantFrom('by_route', 'by_route', ...VIEWS),
  question: fc.oneof(
    { weight: 3, arbitrary: anyQuestion },
    anyQuestion.map(({ order }) => (order === undefined ? {} : { order })),
  ),
  limit: fc.integer({ min: 1, max: 12 }),
});

/** One slice, whose entries are where a slice has them: open or closing in a table, late in the image, or in runs. */
class RandomSlice {
  readonly ports: MemoryPorts;
  readonly sliceId: string;
  checkpoint: Checkpoint = emptyCheckpoint(plan);
  #closedWindows = 0;
  #epoch = 0;

  constructor(ports: MemoryPorts, index: number) {
    this.ports = ports;
    this.sliceId = `slice-${String(index).padStart(12, '0')}`;
  }

  async apply({ partials, closes, compacts, drains }: Step): Promise<void> {
    const { image } = this.checkpoint;
    this.#epoch++;
    this.#closedWindows += closes;
    image.progress = { ...image.progress, watermarkMs: this.#closedWindows * WINDOW_MS };
    const runs: RunReference[] = [];
    if (compacts) {
      for (const [viewIndex, entries] of image.late.entries()) {
        if (entries.length > 0) runs.push(await this.#writeRun(viewIndex, [...entries]));
      }
      image.forgetLate();
    }
    for (const [viewIndex, view] of plan.views.entries()) {
      const table = image.tables[viewIndex] as ViewTable;
      const late: ClosedEntry[][] = [[], [], []];
      for (const partial of partials) {
        const { origin, to, window, values, place } = partial;
        const key = encodeGroupKey([origin, to].slice(0, view.groupBy.length));
        const startMs = view.window.kind === 'all' ? 0 : window * WINDOW_MS;
        const isClosed = view.window.kind !== 'all' && window < this.#closedWindows;
        const into = isClosed ? new ViewTable(view) : table;
        const found = into.find(startMs, key);
        const slot = found < 0 ? into.insert(startMs, key) : found;
        for (const column of view.columns.keys()) {
          for (const value of values) into.add(slot, column, value);
        }
        if (isClosed)
          late[place]?.push({ windowStartMs: startMs, key, accumulators: into.encoded(slot) });
      }
      for (const entry of late[0] ?? []) image.addLateEntry(viewIndex, entry);
      for (const entries of late.slice(1)) {
        if (entries.length > 0) runs.push(await this.#writeRun(viewIndex, entries));
      }
    }
    const drain = drainClosing(image, drains);
    for (const [viewIndex, entries] of drain.entries.entries()) {
      if (entries.length > 0) runs.push(await this.#writeRun(viewIndex, [...entries]));
      image.forgetDrained(viewIndex, drain.bounds[viewIndex] ?? null);
    }
    const before = this.checkpoint.manifest;
    const manifest = { ...before, runs: [...before.runs, ...runs] };
    this.checkpoint = { ...this.checkpoint, manifest };
  }

  async #writeRun(viewIndex: number, entries: ClosedEntry[]): Promise<RunReference> {
    const view = plan.views[viewIndex] as (typeof plan.views)[number];
    const life = this.checkpoint.image.lives[viewIndex] as ViewLife;
    const { bytes, indexOffset, entryCount } = encodeRun([{ view, life, entries }], 60);
    const name: BlobName = {
      kind: 'run',
      timeline: 0,
      epoch: this.#epoch,
      nonce: this.ports.nonces.nonce(),
    };
    await this.ports.blobs.objects.create(blobKey(this.sliceId, name), bytes);
    return { ...referenceOf(name, 'object', bytes), level: 0, entryCount, indexOffset };
  }
}

function requestOf(view: string, question: Record<string, string>): ViewRequest | null {
  const request = parseViewRequest(plan, view, parametersOf({ ...question, limit: '10000' }));
  return request.ok ? request.value : null;
}

describe('the rows of a view', () => {
  it('are those of one table with all that slices hold, in every order, filter and page, as slices move on', async () => {
    await fc.assert(
      fc.asyncProperty(
        anySlices,
        fc.array(anyAsking, { minLength: 3, maxLength: 6 }),
        async (slices, askings) => {
          const ports = new MemoryPorts(1_000_000);
          const made = slices.map((_, index) => new RandomSlice(ports, index));
          const reading = {
            runs: new RunCache(ports.blobs),
            isLost: () => false,
            indexes: new RowIndexes(),
          };
          for (const [stepIndex] of (slices[0] ?? []).entries()) {
            for (const [index, slice] of made.entries()) {
              // One that rests keeps its checkpoint.
              const step = slices[index]?.[stepIndex];
              if (step !== undefined && step.partials.length > 3) await slice.apply(step);
            }
            const parts = made.map(
              ({ sliceId, checkpoint }): SlicePart => ({ pinned: { sliceId }, checkpoint }),
            );
            for (const { view, question, limit } of askings) {
              const request = requestOf(view, question);
              if (request === null) continue;
              const expected = await plainRows(request, parts, reading);
              expect(await pagedRows(request, limit, parts, reading)).toEqual(expected);
            }
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('are refused where a closed entry is of a window that no slice has closed', async () => {
    const ports = new MemoryPorts(1_000_000);
    const slice = new RandomSlice(ports, 0);
    const partial = { origin: 'a', to: 'x', window: 3, values: [1], place: 0 };
    await slice.apply({ partials: [partial], closes: 0, compacts: false, drains: 0 });
    const { image } = slice.checkpoint;
    const [table] = image.tables as readonly [ViewTable];
    const [windowStartMs] = table.windowStarts() as [number];
    const key = table.window(windowStartMs).keyAt(0).slice();
    image.addLateEntry(0, { windowStartMs, key, accumulators: table.encoded(0) });
    const request = requestOf(plan.views[0]?.name ?? '', { order: 'flights' });
    if (request === null) throw new Error('a question is needed');
    const parts = [{ pinned: { sliceId: slice.sliceId }, checkpoint: slice.checkpoint }];
    const reading = { runs: new RunCache(ports.blobs), isLost: () => false };
    await expect(readRows(request, parts, reading)).rejects.toThrow(
      'closed-entries-are-of-closed-windows',
    );
  });
});
