/**
 * A binary heap: the least of its items, by a comparison, is first.
 */
export class Heap<T> {
  readonly #compare: (a: T, b: T) => number;
  readonly #items: T[] = [];

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  /** In no order. */
  get items(): readonly T[] {
    return this.#items;
  }

  add(item: T): void {
    const items = this.#items;
    let at = items.length;
    items.push(item);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = items[above] as T;
      if (this.#compare(other, item) <= 0) break;
      items[at] = other;
      at = above;
    }
    items[at] = item;
  }

  /** Another item in place of the first; or the first itself, which has become larger. */
  replaceFirst(item: T): void {
    const items = this.#items;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= items.length) break;
      const right = items[below + 1];
      if (right !== undefined && this.#compare(right, items[below] as T) < 0) below++;
      const least = items[below] as T;
      if (this.#compare(item, least) <= 0) break;
      items[at] = least;
      at = below;
    }
    items[at] = item;
  }

  removeFirst(): void {
    const last = this.#items.pop();
    if (last !== undefined && this.#items.length > 0) this.replaceFirst(last);
  }
}
