import { describe, expect, it } from 'vitest';
import { CorruptStateFault } from '../../../core/faults.ts';
import { hashKey, KeyTable } from '../../../core/state/key-table.ts';
import { WindowLoad } from '../../../core/state/window-load.ts';

/** Of one to six bytes, ascending. */
function keyOf(index: number): Uint8Array {
  const tail = new Uint8Array(index % 5).fill(index);
  return Uint8Array.of(index >> 8, index & 0xff, ...tail);
}

function load(keys: KeyTable, from: number, to: number, isApart = false): void {
  let slot = from;
  const loading = new WindowLoad(keys, () => slot++, to - from, isApart);
  for (let index = from; index < to; index++) {
    // As in a part: the key lies somewhere within bytes.
    const bytes = Uint8Array.of(9, 9, ...keyOf(index), 9);
    expect(loading.add(bytes, 2, bytes.length - 1)).toBe(index);
  }
  loading.end(0);
}

function findsAll(keys: KeyTable, count: number): void {
  for (let index = 0; index < count; index++) {
    const key = keyOf(index);
    expect(keys.slotAt(keys.find(key, key.length, hashKey(key)))).toBe(index);
  }
  const none = keyOf(count);
  expect(keys.find(none, none.length, hashKey(none))).toBe(-1);
}

describe('entries that are loaded into a window', () => {
  it.each([1, 8, 9, 700])(
    'are found and committed once %i of them are in, and more behind',
    (n) => {
      const keys = new KeyTable();
      load(keys, 0, n);
      findsAll(keys, n);
      expect(keys.committedSize).toBe(n);
      load(keys, n, n + 300);
      findsAll(keys, n + 300);
      keys.undo(() => expect.unreachable('what is loaded is committed'));
    },
  );

  it('are found where too many keys share their places', () => {
    const keys = new KeyTable();
    for (let index = 0; index < 600; index++) keys.add(keyOf(index), keyOf(index).length, 7, index);
    load(keys, 600, 900);
    findsAll(keys, 900);
  });

  it('ascend, from load to load too', () => {
    const keys = new KeyTable();
    load(keys, 0, 20);
    expect(() => load(keys, 19, 20)).toThrow(CorruptStateFault);
    const loading = new WindowLoad(new KeyTable(), () => 0, 2, false);
    loading.add(keyOf(3), 0, keyOf(3).length);
    expect(() => loading.add(keyOf(3), 0, keyOf(3).length)).toThrow('do not ascend');
  });

  it('come beside those that an overlay has', () => {
    const keys = new KeyTable();
    keys.add(keyOf(20), keyOf(20).length, hashKey(keyOf(20)), 20);
    load(keys, 0, 20, true);
    findsAll(keys, 21);
  });
});
