/**
 * The parts that a memory's dedupe ids are stored in, and where among its ids those of each part and epoch lie.
 *
 *   ids in memory   0 ───────── 700 ───────── 1,500 ── 1,520 ── 1,600
 *   epochs            (0, 64]       (64, 128]     129      130           parts up to `until` = 128, then deltas
 */
import { assert } from '../assert.ts';
import { type DedupeLife, hasSameIds } from '../state/dedupe-life.ts';
import type { SliceImage } from '../state/slice-image.ts';
import type { KeptIds } from './manifest.ts';

/** The memory had so many ids when it held those of the epochs up to this one. */
interface EpochEnd {
  readonly epoch: number;
  readonly end: number;
}

export class OpenIds {
  #kept: KeptIds;
  #life: DedupeLife | null;
  /** Ascending: of parts, and of the epochs after them. */
  #ends: EpochEnd[];

  constructor(image: SliceImage, epoch: number) {
    this.#kept = { after: epoch, until: epoch, parts: [] };
    this.#life = image.dedupe;
    this.#ends = [{ epoch, end: 0 }];
  }

  /** What the newest base lists, as far as it is of today's ids. */
  get kept(): KeptIds {
    return this.#kept;
  }

  /** Epochs whose ids are in no part, and where they end, ascending. */
  get later(): readonly EpochEnd[] {
    return this.#ends.filter(({ epoch }) => epoch > this.#kept.until);
  }

  /** A base of an image that holds its ids. */
  adopt(kept: KeptIds, image: SliceImage): void {
    assertFollowing(kept, image.dedupe);
    this.#kept = kept;
    this.#life = image.dedupe;
    const bounds = new Set([kept.after, kept.until, ...kept.parts.map(({ until }) => until)]);
    this.#ends = this.#ends.filter(({ epoch }) => bounds.has(epoch) || epoch > kept.until);
  }

  /** The image holds the ids of all epochs up to this one, of those after the last that was noted behind the others. */
  follow(image: SliceImage, epoch: number): void {
    if (!hasSameIds(image.dedupe, this.#life)) {
      const after = image.dedupe?.after ?? epoch;
      this.#kept = { after, until: after, parts: [] };
      this.#life = image.dedupe;
      this.#ends = [{ epoch: after, end: 0 }];
    }
    const known = this.#ends.filter((each) => each.epoch < epoch);
    if (known.length === this.#ends.length || this.#ends.at(-1)?.epoch === epoch) {
      this.#ends = [...known, { epoch, end: image.dedupeIds.end }];
    }
  }

  /** Where the ids begin that came after an epoch; before that where the memory came by several epochs together. */
  startOf(after: number): number {
    return this.#ends.findLast(({ epoch }) => epoch <= after)?.end ?? 0;
  }

  /** Where those of the epochs up to one end; behind that where the memory came by several epochs together. */
  endOf(until: number): number {
    const found = this.#ends.find(({ epoch }) => epoch >= until);
    assert(found !== undefined, 'ids-of-an-epoch-are-in-memory', () => `epoch ${until}`);
    return found.end;
  }
}

/** Checked where a base is written, and where one is read. */
export function assertFollowing({ after, until, parts }: KeptIds, life: DedupeLife | null): void {
  const isOfLife = life === null ? parts.length === 0 : after === life.after;
  let end = after;
  let isWhole = isOfLife && after <= until;
  for (const part of parts) {
    isWhole &&= part.after === end && part.until > end && part.entryCount > 0;
    end = part.until;
  }
  isWhole &&= parts.length === 0 || end === until;
  assert(isWhole, 'id-parts-leave-no-epoch-out');
}
