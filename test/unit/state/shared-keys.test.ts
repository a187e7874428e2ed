import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashKey, KeyTable } from '../../../core/state/key-table.ts';
import { SharedKeys } from '../../../core/state/shared-keys.ts';

interface Found {
  readonly shared: SharedKeys;
  /** By key: the tables that have it. */
  readonly groups: readonly (readonly [string, string])[];
}

function find(tables: readonly KeyTable[]): Found {
  const groups: [string, string][] = [];
  const finding = SharedKeys.of(tables, ({ count, tables: indexes, ordinals }) => {
    const entries = Array.from({ length: count }, (_, index) => ({
      table: indexes[index] as number,
      key: (tables[indexes[index] as number] as KeyTable).keyAt(ordinals[index] as number).join(),
    }));
    const keys = new Set(entries.map(({ key }) => key));
    const names = entries.map(({ table }) => table).sort((a, b) => a - b);
    groups.push([[...keys].join(' and '), names.join()]);
  });
  for (;;) {
    const { done, value } = finding.next();
    if (done === true) return { shared: value, groups: groups.sort() };
  }
}

function tableOf(keys: readonly Uint8Array[], hashOf: (key: Uint8Array) => number): KeyTable {
  const table = new KeyTable();
  for (const key of keys) {
    const hash = hashOf(key);
    if (table.find(key, key.length, hash) < 0) table.add(key, key.length, hash, table.size);
  }
  return table;
}

const anyKeys = fc.array(fc.uint8Array({ minLength: 1, maxLength: 3, max: 5 }), { maxLength: 150 });
/** Hashes of a few bits, high or low: keys of equal hashes, all in one part or in many. */
const anyHashOf = fc.constantFrom<((key: Uint8Array) => number)[]>(
  (key) => hashKey(key),
  (key) => hashKey(key) & 3,
  (key) => hashKey(key) << 28,
);

describe('keys that several tables have', () => {
  it('are found, each once with all of its entries, and no other key, however hashes fall together', () => {
    fc.assert(
      fc.property(fc.array(anyKeys, { maxLength: 5 }), anyHashOf, (keys, hashOf) => {
        const tables = keys.map((each) => tableOf(each, hashOf));
        const holders = new Map<string, number[]>();
        for (const [index, table] of tables.entries()) {
          for (let ordinal = 0; ordinal < table.size; ordinal++) {
            const key = table.keyAt(ordinal).join();
            holders.set(key, [...(holders.get(key) ?? []), index]);
          }
        }
        const expected = [...holders].filter(([, each]) => each.length > 1);
        const { shared, groups } = find(tables);
        expect(groups).toEqual(expected.map(([key, each]) => [key, each.join()]).sort());
        for (const [index, table] of tables.entries()) {
          for (let ordinal = 0; ordinal < table.size; ordinal++) {
            const isShared = (holders.get(table.keyAt(ordinal).join()) ?? []).length > 1;
            expect(shared.has(index, ordinal)).toBe(isShared);
          }
        }
      }),
    );
  });

  it.each<[string, number, (key: Uint8Array) => number]>([
    ['among many parts', 60_000, hashKey],
    ['where hundreds have one hash', 500, () => 7],
  ])('are found %s', (_, count, hashOf) => {
    const keyOf = (number: number) => new TextEncoder().encode(String(number));
    const numbers = Array.from({ length: count }, (_, number) => number);
    const odd = tableOf(
      numbers.map((number) => keyOf(2 * number + 1)),
      hashOf,
    );
    const threes = tableOf(
      numbers.map((number) => keyOf(3 * number)),
      hashOf,
    );
    const both = numbers.map((number) => 2 * number + 1).filter((number) => number % 3 === 0);
    expect(find([odd, threes]).groups).toEqual(
      both.map((number): [string, string] => [keyOf(number).join(), '0,1']).sort(),
    );
  });
});
