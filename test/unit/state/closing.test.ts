import { describe, expect, it } from 'vitest';
import { ByteReader } from '../../../core/bytes.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import { closingBytes, drainClosing } from '../../../core/state/closing.ts';
import { SliceImage } from '../../../core/state/slice-image.ts';
import type { SliceState } from '../../../core/state/slice-state.ts';
import { closedOf, foldAll, planOf, recordAt } from './fold-fixture.ts';

const aggregates = { records: { count: '*' } };
const file = {
  name: 'p',
  time: { field: 't', lateness: '0s', skew: 'none' },
  views: {
    long: { groupBy: ['key'], window: { tumbling: '20s' }, aggregates },
    short: { groupBy: ['key'], window: { tumbling: '10s' }, aggregates },
  },
};
const plan = planOf(file);
const [LONG, SHORT] = [0, 1];

/** Three groups in each ten seconds up to 40 s, and then the watermark is at 41 s. */
function closing(): SliceState {
  const data = [0, 10_000, 20_000, 30_000].flatMap((t) =>
    ['b', 'c', 'a'].map((key) => ({ t, key })),
  );
  const state = foldAll(plan, [...data, { t: 41_000, key: 'z' }]);
  state.commit();
  return state;
}

/** By key and window, as text: the first value of a key is a string, between one byte before and one behind. */
const text = (entries: readonly { windowStartMs: number; key: Uint8Array }[] = []) =>
  entries.map(
    ({ windowStartMs, key }) =>
      `${windowStartMs / 1_000}${String.fromCharCode(...key.subarray(1, -1))}`,
  );

const drained = (state: SliceState, budget: number) => {
  const { entries, bounds } = drainClosing(state.image, budget);
  for (const [view, bound] of bounds.entries()) state.image.forgetDrained(view, bound);
  return entries;
};

describe('draining', () => {
  it('takes the windows that ended first, each by key, of all views, and stops where the budget is used up', () => {
    const state = closing();
    const one = closingBytes(state.image) / 18;
    const entries = drained(state, 4 * one);
    expect([text(entries[SHORT]), text(entries[LONG])]).toEqual(
      [['0a', '0b', '0c'], ['0a']].slice(),
    );
    expect(text(drained(state, one)[LONG])).toEqual(['0b']);
  });

  it('goes on where it stopped, until all are drained once, whatever the budget', () => {
    for (const budget of [1, 30, 100, 1_000_000]) {
      const state = closing();
      const expected = closedOf(state).map((entries) => text(entries).sort());
      const found: string[][] = state.image.views.map(() => []);
      for (let round = 0; round < 100 && closingBytes(state.image) > 0; round++) {
        const before = state.image.keptEntryCount;
        const entries = drained(state, budget);
        expect(state.image.keptEntryCount).toBe(before - entries.flat().length);
        for (const [view, each] of entries.entries()) found[view]?.push(...text(each));
      }
      expect(found.map((each) => each.sort())).toEqual(expected);
      expect(state.image.keptEntryCount).toBe(2);
      expect(state.image.tables.map((table) => table.entryCount)).toEqual([1, 1, 0]);
      expect(drained(state, budget).flat()).toEqual([]);
    }
  });

  it('takes nothing of a window that only an uncommitted watermark has passed', () => {
    const state = closing();
    drained(state, 1_000_000);
    state.fold(recordAt(100, { t: 90_000, key: 'far' }));
    expect(drained(state, 1_000_000).flat()).toEqual([]);
    state.undo();
    expect(state.image.openEntryCount).toBe(2);
    expect(state.image.keptEntryCount).toBe(2);
  });

  it('says how many bytes there are, about', () => {
    const { image } = closing();
    const bytes = drainClosing(image, 1_000_000)
      .entries.flat()
      .reduce((sum, { key, accumulators }) => sum + key.length + accumulators.length + 10, 0);
    expect(closingBytes(image)).toBeCloseTo(bytes);
    expect(closingBytes(new SliceImage(plan))).toBe(0);
  });
});

describe('a watermark that is not committed', () => {
  it('takes no id away that a lost race then needs, and no window', () => {
    const { views, ...rest } = file;
    const withIds = planOf({ ...rest, views, dedupe: { id: 'id', within: '60s' } });
    const data = Array.from({ length: 100 }, (_, id) => ({ t: 10_000 + id, key: 'a', id }));
    const state = foldAll(withIds, data);
    state.commit();
    state.fold(recordAt(100, { t: 10_000_000, key: 'far', id: 'far' }));
    state.fold(recordAt(101, { t: 10_000_001, key: 'far', id: 'farther' }));
    state.undo();
    for (const [index, each] of data.entries()) state.fold(recordAt(100 + index, each));
    expect(state.progress.counts).toMatchObject({ folded: 100, duplicates: 100 });
    expect(state.openEntryCount).toBe(2);
  });
});

describe('what is closing', () => {
  it('is held by names: bounds only grow, and only what has closed is drained', () => {
    const { image } = closing();
    const key = new Uint8Array();
    image.forgetDrained(SHORT, { windowStartMs: 20_000, key });
    expect(() => image.forgetDrained(SHORT, { windowStartMs: 10_000, key })).toThrow(
      'a-drained-bound-only-grows',
    );
    expect(() => image.forgetDrained(SHORT, null)).toThrow('a-drained-bound-only-grows');
    expect(() => image.forgetDrained(SHORT, { windowStartMs: 50_000, key })).toThrow(
      'closed-entries-only-are-drained',
    );
    const after = Uint8Array.of(0xff);
    expect(() => image.forgetDrained(SHORT, { windowStartMs: 40_000, key: after })).toThrow(
      'closed-entries-only-are-drained',
    );
  });

  it('is touched by no fold: what comes for it is late', () => {
    const state = closing();
    state.fold(recordAt(100, { t: 5, key: 'a' }));
    expect(state.encodeDelta().windows.filter(({ view }) => view === SHORT)).toEqual([]);
    expect(state.lateSinceRuns()[SHORT]).toHaveLength(1);
    state.fold(recordAt(101, { t: 41_500, key: 'z' }));
    state.image.progress.watermarkMs = 60_000;
    expect(() => state.encodeDelta().bytes).toThrow('a-closing-entry-stays-as-it-is');
  });

  it('gets no entry from a change that is read', () => {
    const writer = foldAll(plan, [{ t: 5, key: 'new' }]);
    const bytes = writer.encodeDelta().bytes;
    const { image } = closing();
    image.progress.watermarkMs = 15_000;
    const progress = { ...writer.progress };
    writer.progress.watermarkMs = 15_000;
    const later = writer.encodeDelta().bytes;
    expect(progress.watermarkMs).toBe(5);
    expect(() => image.apply(new ByteReader(later))).toThrow(CorruptStateFault);
    expect(() => new SliceImage(plan).apply(new ByteReader(bytes))).not.toThrow();
  });

  it('is left out of the state where runs have it, whatever a change says of it', () => {
    const writer = closing();
    const whole = foldAll(plan, [{ t: 0, key: 'a' }]);
    whole.progress.watermarkMs = 41_000;
    const { image } = writer;
    drained(writer, 1_000_000);
    image.apply(new ByteReader(whole.encodeDelta().bytes));
    expect(image.keptEntryCount).toBe(2);
  });
});
