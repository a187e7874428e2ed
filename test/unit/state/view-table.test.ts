import { describe, expect, it } from 'vitest';
import { hashKey } from '../../../core/state/key-table.ts';
import { ViewTable } from '../../../core/state/view-table.ts';
import { smallPlan } from '../../world/small-log.ts';

const view = smallPlan.views.find(({ columns }) => columns.some(({ kind }) => kind === 'quantile'));
if (view === undefined) throw new Error('a view with all that lies out of line is needed');
const columns = [...view.columns.keys()];

function fold(table: ViewTable, windowStartMs: number, from: number, to: number): void {
  for (let key = from; key < to; key++) {
    const bytes = Uint8Array.of(key & 0xff, (key >> 8) & 0xff, key >> 16);
    const slot = table.touch(windowStartMs, bytes, bytes.length, hashKey(bytes));
    for (const column of columns)
      for (const value of [0.1, 1e12, -3]) table.add(slot, column, value);
  }
}

describe('the memory of a table', () => {
  it('has what touched entries were until the commit only', () => {
    const table = new ViewTable(view);
    fold(table, 0, 0, 3_000);
    table.commit();
    const before = table.heapBytes();
    for (let round = 0; round < 3; round++) {
      fold(table, 0, 0, 3_000);
      expect(table.heapBytes()).toBeGreaterThan(1.3 * before);
      if (round === 1) table.undo();
      else table.commit();
      // Room for the next time, with nothing in it.
      expect(table.heapBytes()).toBeLessThan(1.3 * before);
    }
  });

  it('keeps no room for as many before-images as there were once', () => {
    const table = new ViewTable(view);
    fold(table, 0, 0, 30_000);
    table.commit();
    const before = table.heapBytes();
    fold(table, 0, 0, 30_000);
    table.commit();
    expect(table.heapBytes()).toBeLessThan(1.01 * before);
  });

  it('counts a touched entry for itself, however many there were before', () => {
    const table = new ViewTable(view);
    fold(table, 0, 0, 20_000);
    const perEntry = table.touchedBytes() / 20_000;
    table.commit();
    table.removeWindow(0);
    fold(table, 60_000, 0, 1);
    expect(table.touchedBytes()).toBeLessThan(2 * perEntry);
    expect(table.touchedBytes()).toBeGreaterThan(50);
  });

  it('is small for windows of few groups', () => {
    const table = new ViewTable(view);
    for (let window = 0; window < 1_000; window++) fold(table, window * 10_000, 0, 3);
    table.commit();
    const many = new ViewTable(view);
    fold(many, 0, 0, 3_000);
    many.commit();
    expect(table.heapBytes() - many.heapBytes()).toBeLessThan(1_000 * 900);
  });
});
