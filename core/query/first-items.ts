/**
 * The first few of many items, without keeping or sorting them all.
 */
const CUT_MIN = 64;

export class FirstItems<T> {
  readonly #count: number;
  readonly #compare: (a: T, b: T) => number;
  #items: T[] = [];
  #cutAt: number;
  /** No item after it can be among the first; null until so many are known. */
  #last: T | null = null;

  /** Keeps those of the first `count` places; items that compare as equal share a place. */
  constructor(count: number, compare: (a: T, b: T) => number) {
    this.#count = count;
    this.#compare = compare;
    this.#cutAt = Math.max(CUT_MIN, count * 2);
  }

  /** False if the item, and so all that come after it, are not among the first. */
  add(item: T): boolean {
    if (this.#last !== null && this.#compare(item, this.#last) > 0) return false;
    this.#items.push(item);
    if (this.#items.length >= this.#cutAt) this.#cut();
    return true;
  }

  /** The items by place, in order. */
  places(): T[][] {
    this.#cut();
    const places: T[][] = [];
    for (const item of this.#items) {
      const place = places.at(-1);
      if (place !== undefined && this.#compare(place[0] as T, item) === 0) place.push(item);
      else places.push([item]);
    }
    return places;
  }

  #cut(): void {
    const items = this.#items.sort(this.#compare);
    let placeCount = 0;
    let end = 0;
    for (; end < items.length; end++) {
      const isNew = end === 0 || this.#compare(items[end - 1] as T, items[end] as T) !== 0;
      if (isNew && placeCount === this.#count) break;
      if (isNew) placeCount++;
    }
    items.length = end;
    if (placeCount === this.#count) this.#last = items.at(-1) ?? null;
    // Many items at few places may be left: the next cut comes when they have doubled.
    this.#cutAt = Math.max(CUT_MIN, this.#count * 2, end * 2);
  }
}
