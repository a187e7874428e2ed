/**
 * The same fold by another way: in parts.
 */
import type { AccumulatorColumn } from '../../core/aggregate/column.ts';
import { ByteReader } from '../../core/bytes.ts';
import type { AggregateKind } from '../../core/definition/kinds/aggregate-kinds.ts';
import { addAll, bytesOf, columnOf } from '../unit/aggregate/slots.ts';

const SLOTS = 2048;

/**
 * Folds values by cutting them into parts and merging these, with copies and bytes in between, as
 * choices say.
 */
export class PartwiseFold {
  readonly column: AccumulatorColumn;
  readonly #kind: AggregateKind;
  readonly #choose: () => number;
  #used = 0;

  constructor(kind: AggregateKind, choose: () => number) {
    this.column = columnOf(kind, SLOTS);
    this.#kind = kind;
    this.#choose = choose;
  }

  fold(values: readonly number[]): number {
    const cut = values.length < 2 ? 0 : this.#choose() % values.length;
    let slot: number;
    if (cut === 0) {
      slot = this.#used++;
      addAll(this.column, slot, values);
    } else {
      slot = this.fold(values.slice(0, cut));
      this.column.merge(slot, this.column, this.fold(values.slice(cut)));
    }
    return this.#passedOn(slot);
  }

  #passedOn(slot: number): number {
    switch (this.#choose() % 4) {
      case 0:
        this.column.decode(slot, new ByteReader(bytesOf(this.column, slot)));
        return slot;
      case 1: {
        const copy = this.#used++;
        this.column.copy(copy, this.column, slot);
        this.column.reset(slot);
        return copy;
      }
      case 2: {
        const away = columnOf(this.#kind);
        away.copy(3, this.column, slot);
        this.column.copy(slot, away, 3);
        return slot;
      }
      default:
        return slot;
    }
  }
}
