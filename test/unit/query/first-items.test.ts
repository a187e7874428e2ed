import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FirstItems } from '../../../core/query/first-items.ts';

interface Item {
  readonly place: number;
  readonly id: number;
}

describe('the first of many items', () => {
  it('are all items of the first places, however they came', () => {
    const places = fc.array(fc.nat(60), { maxLength: 600 });
    fc.assert(
      fc.property(places, fc.integer({ min: 1, max: 40 }), (all, count) => {
        const items = all.map((place, id): Item => ({ place, id }));
        const first = new FirstItems<Item>(count, (a, b) => a.place - b.place);
        for (const item of items) first.add(item);
        const wanted = [...new Set(all)].sort((a, b) => a - b).slice(0, count);
        const found = first.places();
        expect(found.map(([item]) => item?.place)).toEqual(wanted);
        for (const group of found) {
          const mine = items.filter(({ place }) => place === group[0]?.place);
          expect(group.map(({ id }) => id).sort((a, b) => a - b)).toEqual(mine.map(({ id }) => id));
        }
      }),
    );
  });

  it('turn away what comes after them, so that a sorted source is read no further', () => {
    const first = new FirstItems<number>(10, (a, b) => a - b);
    let taken = 0;
    while (first.add(taken)) taken++;
    expect(taken).toBeLessThan(100);
    expect(first.places()).toHaveLength(10);
  });
});
