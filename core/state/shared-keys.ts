/**
 * Which keys of a window several tables have, without an order of all keys: entries are parted by hash, and each part goes through
 * a table of places that fits a processor's cache. Only keys of equal hashes are compared.
 *
 * It works in portions and yields between them. Takes 8 bytes for each entry while it works, one bit afterwards.
 */
import { compareKeys, sortByKey } from './key-sort.ts';
import type { WindowEntries } from './key-table.ts';

/** The keys of one window in one table. */
export type WindowKeys = Pick<WindowEntries, 'size' | 'hashAt' | 'arena' | 'startOf' | 'endOf'>;

/** Entries of a part, about. */
const PART = 32_768;
/** A probe that takes longer is no chance: someone has chosen keys of equal hashes. */
const PROBES_MAX = 256;
/** Entries between two yields. */
const PORTION = 32_768;

/** The entries of one key: `count` of them, each by the index of its table and its ordinal there. Used again for the next. */
export interface SharedEntries {
  readonly count: number;
  readonly tables: Uint32Array;
  readonly ordinals: Uint32Array;
}

type Visit = (entries: SharedEntries) => void;

/** Entries by part, those of one part as they come. */
interface Parted {
  readonly entries: Uint32Array;
  readonly hashes: Uint32Array;
  /** Where each part ends. */
  readonly ends: Uint32Array;
}

export class SharedKeys {
  readonly #tables: readonly WindowKeys[];
  /** By table: the number of its first entry, where all are numbered one after the other. */
  readonly #firsts: number[] = [];
  readonly #count: number;
  /** A bit for each entry. */
  readonly #isShared: Uint32Array;
  readonly #found: {
    count: number;
    readonly tables: Uint32Array;
    readonly ordinals: Uint32Array;
  };

  private constructor(tables: readonly WindowKeys[]) {
    this.#tables = tables;
    let count = 0;
    for (const { size } of tables) {
      this.#firsts.push(count);
      count += size;
    }
    this.#count = count;
    this.#isShared = new Uint32Array((count >>> 5) + 1);
    const many = tables.length;
    this.#found = { count: 0, tables: new Uint32Array(many), ordinals: new Uint32Array(many) };
  }

  /** `visit` gets the entries of each key that several tables have. */
  static *of(tables: readonly WindowKeys[], visit: Visit): Generator<void, SharedKeys, void> {
    const shared = new SharedKeys(tables);
    if (tables.length > 1) yield* shared.#find(visit);
    return shared;
  }

  /** Whether other tables have an entry's key too. */
  has(table: number, ordinal: number): boolean {
    const entry = (this.#firsts[table] as number) + ordinal;
    return (((this.#isShared[entry >>> 5] as number) >>> (entry & 31)) & 1) === 1;
  }

  *#find(visit: Visit): Generator<void, void, void> {
    const { entries, hashes, ends } = yield* this.#part();
    let begin = 0;
    for (const end of ends) {
      const part = entries.subarray(begin, end);
      if (!this.#probe(part, hashes.subarray(begin, end), visit)) yield* this.#sort(part, visit);
      begin = end;
      yield;
    }
  }

  *#part(): Generator<void, Parted, void> {
    const bits = Math.max(1, Math.ceil(Math.log2(this.#count / PART)));
    const shift = 32 - bits;
    const ends = new Uint32Array(2 ** bits);
    for (const { keys, from, to } of this.#portions()) {
      for (let ordinal = from; ordinal < to; ordinal++) {
        (ends[keys.hashAt(ordinal) >>> shift] as number)++;
      }
      yield;
    }
    let next = 0;
    for (const [part, count] of ends.entries()) {
      ends[part] = next;
      next += count;
    }
    const entries = new Uint32Array(this.#count);
    const hashes = new Uint32Array(this.#count);
    for (const { keys, first, from, to } of this.#portions()) {
      for (let ordinal = from; ordinal < to; ordinal++) {
        const hash = keys.hashAt(ordinal);
        const part = hash >>> shift;
        const at = ends[part] as number;
        ends[part] = at + 1;
        entries[at] = first + ordinal;
        hashes[at] = hash;
      }
      yield;
    }
    return { entries, hashes, ends };
  }

  /** Visits the shared keys of a part; false, and nothing visited, where too many share their places. */
  #probe(entries: Uint32Array, hashes: Uint32Array, visit: Visit): boolean {
    const places = new Uint32Array(2 ** Math.ceil(Math.log2(entries.length * 2 + 1)));
    /** By entry of the part: the next one of the same key, + 1. */
    const nexts = new Uint32Array(entries.length);
    const mask = places.length - 1;
    const firsts: number[] = [];
    for (let index = 0; index < entries.length; index++) {
      const hash = hashes[index] as number;
      let place = hash & mask;
      for (let probes = 0; ; probes++) {
        const known = (places[place] as number) - 1;
        if (known < 0) {
          places[place] = index + 1;
          break;
        }
        if (
          hashes[known] === hash &&
          this.#compare(entries[known] as number, entries[index] as number) === 0
        ) {
          if (nexts[known] === 0) firsts.push(known);
          nexts[index] = nexts[known] as number;
          nexts[known] = index + 1;
          break;
        }
        if (probes === PROBES_MAX) return false;
        place = (place + 1) & mask;
      }
    }
    for (const first of firsts) {
      this.#found.count = 0;
      this.#add(entries[first] as number);
      for (let next = nexts[first] as number; next > 0; next = nexts[next - 1] as number) {
        this.#add(entries[next - 1] as number);
      }
      visit(this.#found);
    }
    return true;
  }

  /** The same by the order of keys. */
  *#sort(entries: Uint32Array, visit: Visit): Generator<void, void, void> {
    const tables = entries.map((entry) => this.#tableOf(entry));
    const ordinals = entries.map((entry, index) => {
      return entry - (this.#firsts[tables[index] as number] as number);
    });
    yield* sortByKey(this.#tables, tables, ordinals);
    const entryAt = (index: number) =>
      (this.#firsts[tables[index] as number] as number) + (ordinals[index] as number);
    for (let begin = 0; begin < entries.length; ) {
      let end = begin + 1;
      while (end < entries.length && this.#compare(entryAt(begin), entryAt(end)) === 0) end++;
      if (end - begin > 1) {
        this.#found.count = 0;
        for (let index = begin; index < end; index++) this.#add(entryAt(index));
        visit(this.#found);
      }
      begin = end;
      if (begin % PORTION === 0) yield;
    }
  }

  #add(entry: number): void {
    this.#isShared[entry >>> 5] = (this.#isShared[entry >>> 5] as number) | (1 << (entry & 31));
    const table = this.#tableOf(entry);
    const at = this.#found.count++;
    this.#found.tables[at] = table;
    this.#found.ordinals[at] = entry - (this.#firsts[table] as number);
  }

  #tableOf(entry: number): number {
    let table = this.#firsts.length - 1;
    while ((this.#firsts[table] as number) > entry) table--;
    return table;
  }

  #compare(a: number, b: number): number {
    const [left, right] = [this.#tableOf(a), this.#tableOf(b)];
    return compareKeys(
      this.#tables[left] as WindowKeys,
      a - (this.#firsts[left] as number),
      this.#tables[right] as WindowKeys,
      b - (this.#firsts[right] as number),
    );
  }

  *#portions() {
    for (const [table, keys] of this.#tables.entries()) {
      const first = this.#firsts[table] as number;
      for (let from = 0; from < keys.size; from += PORTION) {
        yield { keys, first, from, to: Math.min(keys.size, from + PORTION) };
      }
    }
  }
}
