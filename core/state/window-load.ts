/**
 * Many entries on their way into one window of a table, which has none of them. Their keys ascend, so none comes twice. They
 * count as committed, and are found once `end` was called.
 */
import { compareSpans } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import type { KeyTable } from './key-table.ts';

export class WindowLoad {
  readonly #keys: KeyTable;
  readonly #newSlot: () => number;
  readonly #began: number;
  /** The ordinal of the key that the next one comes behind; −1: it may be any. */
  #last: number;

  /** `isApart`: the window may have keys that are no part's, and each that comes is known to be none of them. */
  constructor(keys: KeyTable, newSlot: () => number, count: number, isApart: boolean) {
    this.#keys = keys;
    this.#newSlot = newSlot;
    this.#began = keys.size;
    this.#last = isApart ? -1 : keys.size - 1;
    keys.reserveMore(count);
  }

  /** The slot of a new entry, holding the identity. The key is the bytes [from, to). */
  add(bytes: Uint8Array, from: number, to: number): number {
    const keys = this.#keys;
    const last = this.#last;
    if (last >= 0) {
      const start = keys.startOf(last);
      if (compareSpans(keys.arena, start, keys.endOf(last), bytes, from, to) >= 0) {
        throw new CorruptStateFault('the keys of parts do not ascend');
      }
    }
    const slot = this.#newSlot();
    this.#last = keys.size;
    keys.load(bytes, from, to, slot);
    return slot;
  }

  /** `room`: how many keys the window will have in all, as far as is known. */
  end(room: number): void {
    this.#keys.placeSince(this.#began);
    this.#keys.commit();
    this.#keys.reserve(room);
  }
}
