/**
 * The ids of folded records that a producer may send again: 128-bit hashes, each with the event time from which
 * `dedupe.within` is counted. They are only ever appended; of one id the latest time counts, in whatever order they come.
 *
 *   pages, in the order of arrival: hash (16 bytes), time (8) … × up to 4,096       index: hash → place in a page
 *
 * Ids have ordinals in the order of arrival, so that what came since some moment is a range. A page goes as a whole once all of
 * its ids have expired, so many at a time; until then who asks tells by the time which ids are still known. So no call takes
 * longer the more ids there are.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import { IdIndex } from './id-index.ts';

/** Bytes of an id where it is stored: hash and time. */
export const ID_BYTES = 24;

const NEVER_MS = Number.NEGATIVE_INFINITY;

/** How much is done at a time, and kept together. Tests have less. */
export interface IdSizes {
  readonly pageIdsMin: number;
  /** A page has up to two to the power of this. */
  readonly pageBits: number;
  /** Ids that share a table of the index, on average. */
  readonly bucketIds: number;
  /** Expired ids that one sweep takes out, besides twice those that came since the sweep before. */
  readonly sweptIds: number;
}

const SIZES: IdSizes = { pageIdsMin: 16, pageBits: 12, bucketIds: 1_024, sweptIds: 16_384 };

interface Page {
  /** Where the index has it. */
  readonly number: number;
  /** Ordinal of its first id. */
  readonly first: number;
  readonly words: Uint32Array;
  readonly countedFromMs: Float64Array;
  length: number;
  newestMs: number;
}

/** What was written or read of a range of ids. */
export interface IdRange {
  readonly entryCount: number;
  /** The latest time of these; −Infinity: there are none. */
  readonly newestMs: number;
}

export class DedupeIds {
  readonly #sizes: IdSizes;
  readonly #pageBits: number;
  readonly #pageMask: number;
  readonly #index: IdIndex;
  /** In the order of arrival. */
  #pages: Page[] = [];
  /** By number. */
  readonly #byNumber: (Page | null)[] = [];
  #freeNumbers: number[] = [];
  #end = 0;
  #sweptEnd = 0;
  #pageBytes = 0;

  constructor(sizes: IdSizes = SIZES) {
    this.#sizes = sizes;
    this.#pageBits = sizes.pageBits;
    this.#pageMask = 2 ** sizes.pageBits - 1;
    this.#index = new IdIndex(sizes.bucketIds);
  }

  /** Ids in memory, each once, expired ones that were not taken out yet included. */
  get size(): number {
    return this.#index.count;
  }

  /** The ordinal that the next id gets. */
  get end(): number {
    return this.#end;
  }

  /** True if the id (four words of its hash) is still kept. */
  has(id: Uint32Array, expiredMs: number): boolean {
    if (this.#pages.length === 0) return false;
    const place = this.#find(id);
    return place >= 0 && this.#timeAt(place) > expiredMs;
  }

  /** Keeps the id, from the later time if it is kept already. */
  add(id: Uint32Array, countedFromMs: number): void {
    const known = this.#find(id);
    if (known >= 0 && this.#timeAt(known) >= countedFromMs) return;
    const place = this.#append(id, countedFromMs);
    if (known >= 0) this.#index.replace(place);
    else this.#index.add(place);
  }

  /** Adds all ids of `other` that are still kept, in their order. */
  merge(other: DedupeIds, expiredMs: number): void {
    const id = new Uint32Array(4);
    other.#each(0, other.#end, expiredMs, (page, at) => {
      id.set(page.words.subarray(at * 4, at * 4 + 4));
      this.add(id, page.countedFromMs[at] as number);
    });
  }

  /** Gives memory back that expired ids take, a bounded part of it at a time. */
  sweep(expiredMs: number): void {
    let left = this.#sizes.sweptIds + 2 * (this.#end - this.#sweptEnd);
    this.#sweptEnd = this.#end;
    const isExpired = ({ newestMs }: Page) => newestMs <= expiredMs;
    if (!this.#pages.some(isExpired)) return;
    this.#pages = this.#pages.filter((page) => {
      if (left <= 0 || !isExpired(page)) return true;
      left -= page.length;
      this.#drop(page);
      return false;
    });
  }

  /** No id was ever added. */
  clear(): void {
    if (this.#end === 0) return;
    this.#index.clear();
    this.#pages = [];
    this.#byNumber.length = 0;
    this.#freeNumbers = [];
    this.#end = 0;
    this.#sweptEnd = 0;
    this.#pageBytes = 0;
  }

  /** Appends the kept ids of a range of ordinals, one after the other. */
  encode(from: number, to: number, expiredMs: number, writer: ByteWriter): IdRange {
    let entryCount = 0;
    let newestMs = NEVER_MS;
    this.#each(from, to, expiredMs, ({ words, countedFromMs }, at) => {
      for (let word = at * 4; word < at * 4 + 4; word++) writer.u32(words[word] as number);
      const timeMs = countedFromMs[at] as number;
      writer.f64(timeMs);
      entryCount++;
      newestMs = Math.max(newestMs, timeMs);
    });
    return { entryCount, newestMs };
  }

  /** Adds so many ids that `encode` wrote, those that are still kept; what there was. */
  decode(reader: ByteReader, count: number, expiredMs: number): IdRange {
    const id = new Uint32Array(4);
    let newestMs = NEVER_MS;
    for (let index = 0; index < count; index++) {
      for (let word = 0; word < 4; word++) id[word] = reader.u32();
      const countedFromMs = reader.f64();
      if (!Number.isFinite(countedFromMs))
        throw new CorruptStateFault('a dedupe id without a time');
      newestMs = Math.max(newestMs, countedFromMs);
      if (countedFromMs > expiredMs) this.add(id, countedFromMs);
    }
    return { entryCount: count, newestMs };
  }

  /** The kept ids of all sets, each once with its latest time, by hash: the same for the same ids, however they came. */
  static encodeCanonical(sets: readonly DedupeIds[], expiredMs: number, writer: ByteWriter): void {
    const found: { readonly words: Uint32Array; readonly timeMs: number }[] = [];
    for (const set of sets) {
      set.#each(0, set.#end, expiredMs, ({ words, countedFromMs }, at) => {
        const timeMs = countedFromMs[at] as number;
        found.push({ words: words.subarray(at * 4, at * 4 + 4), timeMs });
      });
    }
    found.sort((a, b) => compareWords(a.words, b.words) || b.timeMs - a.timeMs);
    const latest = found.filter(({ words }, index) => {
      const before = found[index - 1];
      return before === undefined || compareWords(before.words, words) !== 0;
    });
    writer.varint(latest.length);
    for (const { words, timeMs } of latest) {
      for (const word of words) writer.u32(word);
      writer.f64(timeMs);
    }
  }

  heapBytes(): number {
    return this.#pageBytes + this.#index.heapBytes();
  }

  /** The place of the id, or −1. The index stands there. */
  #find(id: Uint32Array): number {
    const index = this.#index;
    index.seek(id[0] as number);
    for (;;) {
      const place = index.next();
      if (place < 0) return -1;
      const { words } = this.#byNumber[place >>> this.#pageBits] as Page;
      const at = (place & this.#pageMask) * 4;
      if (words[at + 1] === id[1] && words[at + 2] === id[2] && words[at + 3] === id[3]) {
        return place;
      }
    }
  }

  #timeAt(place: number): number {
    const page = this.#byNumber[place >>> this.#pageBits] as Page;
    return page.countedFromMs[place & this.#pageMask] as number;
  }

  #append(id: Uint32Array, countedFromMs: number): number {
    const last = this.#pages.at(-1);
    const page =
      last === undefined || last.length === last.countedFromMs.length ? this.#addPage() : last;
    const at = page.length++;
    for (let word = 0; word < 4; word++) page.words[at * 4 + word] = id[word] as number;
    page.countedFromMs[at] = countedFromMs;
    page.newestMs = Math.max(page.newestMs, countedFromMs);
    this.#end++;
    return page.number * (this.#pageMask + 1) + at;
  }

  /** A page for a quarter as many ids as there are: few ids take little room. */
  #addPage(): Page {
    const wanted = Math.max(this.#sizes.pageIdsMin, this.#index.count >> 2);
    const capacity = Math.min(this.#pageMask + 1, wanted);
    const number = this.#freeNumbers.pop() ?? this.#byNumber.length;
    const page = {
      number,
      first: this.#end,
      words: new Uint32Array(capacity * 4),
      countedFromMs: new Float64Array(capacity),
      length: 0,
      newestMs: NEVER_MS,
    };
    this.#byNumber[number] = page;
    this.#pages.push(page);
    this.#pageBytes += capacity * ID_BYTES;
    return page;
  }

  #drop(page: Page): void {
    const first = page.number * (this.#pageMask + 1);
    for (let at = 0; at < page.length; at++) {
      this.#index.remove(page.words[at * 4] as number, first + at);
    }
    this.#byNumber[page.number] = null;
    this.#freeNumbers.push(page.number);
    this.#pageBytes -= page.countedFromMs.length * ID_BYTES;
  }

  /** The ids of a range of ordinals that are still kept, in their order; of one id older times too. */
  #each(
    from: number,
    to: number,
    expiredMs: number,
    visit: (page: Page, at: number) => void,
  ): void {
    for (const page of this.#pages) {
      if (page.newestMs <= expiredMs) continue;
      const end = Math.min(page.length, to - page.first);
      for (let at = Math.max(0, from - page.first); at < end; at++) {
        if ((page.countedFromMs[at] as number) > expiredMs) visit(page, at);
      }
    }
  }
}

function compareWords(a: Uint32Array, b: Uint32Array): number {
  for (let word = 0; word < 4; word++) {
    const difference = (a[word] as number) - (b[word] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}
