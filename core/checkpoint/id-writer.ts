/**
 * The parts that a base keeps the dedupe ids in. Ids are only appended: what came since the last part becomes parts of its own, and
 * a part whose ids have all expired goes from the list. Nothing is written anew for either.
 *
 *   (0, 64] (64, 128] … (896, 960]  +  961 … 1,024  →  (0, 960] (960, 1024]      many small neighbours become one part
 *
 * As with parts of the open state, what is left of a budget writes ids anew that the base before has the same bytes of, where all of
 * them fit into it: a damaged pack then leaves a fallback the base before, whole.
 */
import type { Knobs } from '../knobs.ts';
import { ID_BYTES, type IdRange } from '../state/dedupe-ids.ts';
import type { SliceState } from '../state/slice-state.ts';
import type { IdsPart, KeptIds } from './manifest.ts';
import { assertFollowing, type OpenIds } from './open-ids.ts';
import type { PackWriter, RewriteTask, WriteLimits } from './pack-writer.ts';

/** Neighbours that become one part at a time. */
const MERGED_MAX = 16;

export class IdWriter {
  readonly #state: SliceState;
  readonly #open: OpenIds;
  readonly #pack: PackWriter;
  readonly #limits: WriteLimits;
  readonly #partsMax: number;
  readonly #after: number;
  #until: number;
  #parts: IdsPart[];

  constructor(
    state: SliceState,
    open: OpenIds,
    pack: PackWriter,
    limits: WriteLimits,
    { idPartsMax }: Pick<Knobs, 'idPartsMax'>,
  ) {
    this.#state = state;
    this.#open = open;
    this.#pack = pack;
    this.#limits = limits;
    this.#partsMax = idPartsMax;
    const { kept } = open;
    this.#after = kept.after;
    this.#until = kept.until;
    this.#parts = withoutExpired(kept.parts, state.expiredMs);
  }

  tasks(loneUntil: number): RewriteTask[] {
    const epoch = this.#until;
    const add: RewriteTask = {
      isTouched: true,
      isClosing: false,
      epoch,
      bytes: null,
      run: () => {
        this.#addLater();
        this.#mergeSmall();
      },
    };
    const isNew = this.#state.idsEnd > this.#startOf(epoch);
    return [...(isNew ? [add] : []), ...this.#loneTasks(loneUntil)];
  }

  /** What the base lists. Without new ids it is up to the epoch that is written. */
  finish(): KeptIds {
    const { epoch } = this.#limits;
    const life = this.#state.image.dedupe;
    if (life === null) return { after: epoch, until: epoch, parts: [] };
    const isAll = this.#state.idsEnd === this.#startOf(this.#until);
    if (this.#until < epoch && isAll) this.#extend(epoch);
    const kept = { after: this.#after, until: this.#until, parts: this.#parts };
    assertFollowing(kept, life);
    return kept;
  }

  #addLater(): void {
    const { epoch, budget, partBytesMax } = this.#limits;
    const known = this.#open.later.filter((each) => each.epoch < epoch);
    const later = [...known, { epoch, end: this.#state.idsEnd }];
    let from = this.#startOf(this.#until);
    while (later.length > 0) {
      const room = Math.min(partBytesMax, budget - this.#pack.byteLength);
      if (room <= 0) return;
      const fitting = later.findLastIndex(({ end }) => (end - from) * ID_BYTES <= room);
      // The ids of an epoch stay together.
      const [{ epoch: until, end }] = later.splice(0, Math.max(1, fitting + 1)).slice(-1) as [
        (typeof later)[number],
      ];
      const after = this.#parts.at(-1)?.until ?? this.#after;
      const part = this.#write(after, until, from, end);
      if (part === null) this.#extend(until);
      else this.#parts.push(part);
      this.#until = until;
      from = end;
    }
  }

  /** Few parts in all: of neighbours that fit into one, those that cost least for each part that goes. */
  #mergeSmall(): void {
    const { epoch, budget, partBytesMax } = this.#limits;
    const isSmall = ({ bytes }: IdsPart) => bytes.byteLength * 2 < partBytesMax;
    const isOld = ({ bytes }: IdsPart) => bytes.pack.epoch < epoch;
    while (this.#pack.byteLength < budget) {
      if (this.#parts.filter(isSmall).length <= this.#partsMax) return;
      const group = cheapest(this.#parts, isOld, partBytesMax);
      if (group === null) return;
      this.#rewrite(group);
    }
  }

  /** What the base before has the same bytes of. */
  #loneTasks(loneUntil: number): RewriteTask[] {
    const { budget, partBytesMax } = this.#limits;
    if (bytesOf(this.#parts) > budget) return [];
    const groups: IdsPart[][] = [];
    let group: IdsPart[] = [];
    for (const part of this.#parts) {
      const isLone = part.bytes.pack.epoch <= loneUntil;
      if (!isLone || bytesOf(group) + part.bytes.byteLength > partBytesMax) group = [];
      if (!isLone) continue;
      if (group.length === 0) groups.push(group);
      group.push(part);
    }
    return groups.map((parts) => {
      const [{ bytes }] = parts.toSorted((a, b) => a.bytes.pack.epoch - b.bytes.pack.epoch) as [
        IdsPart,
      ];
      return {
        isTouched: false,
        isClosing: false,
        epoch: 0,
        bytes,
        run: () => this.#rewrite(parts),
      };
    });
  }

  /** Neighbours become one part, unless one of them has been written anew meanwhile. */
  #rewrite(group: readonly IdsPart[]): void {
    const first = this.#parts.findIndex(({ bytes }) => bytes === group[0]?.bytes);
    const found = first < 0 ? [] : this.#parts.slice(first, first + group.length);
    if (!group.every(({ bytes }, index) => found[index]?.bytes === bytes)) return;
    const [{ after }, { until }] = [found[0] as IdsPart, found.at(-1) as IdsPart];
    const part = this.#write(after, until, this.#open.startOf(after), this.#endOf(until));
    const left = this.#parts.toSpliced(first, group.length, ...(part === null ? [] : [part]));
    this.#parts = following(left, this.#after, this.#parts.at(-1)?.until);
  }

  /** Null: all ids of the range have expired. */
  #write(after: number, until: number, from: number, to: number): IdsPart | null {
    let range: IdRange = { entryCount: 0, newestMs: Number.NEGATIVE_INFINITY };
    const bytes = this.#pack.write((writer) => {
      range = this.#state.encodeIds(from, to, writer);
    });
    return range.entryCount === 0 ? null : { after, until, ...range, bytes };
  }

  /** No id of the epochs up to this one has to be written. */
  #extend(until: number): void {
    this.#parts = following(this.#parts, this.#after, until);
    this.#until = until;
  }

  /**
   * Where ids begin that no part has. Where the memory came by several epochs together, those of the last epochs that a part has are
   * among them, and are written twice: otherwise those of the next would be left out.
   */
  #startOf(until: number): number {
    return until < this.#limits.epoch ? this.#open.startOf(until) : this.#state.idsEnd;
  }

  /** The epoch that is written has the ids that are not committed too. */
  #endOf(until: number): number {
    return until < this.#limits.epoch ? this.#open.endOf(until) : this.#state.idsEnd;
  }
}

function bytesOf(parts: readonly IdsPart[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
}

function withoutExpired(parts: readonly IdsPart[], expiredMs: number): IdsPart[] {
  const left = parts.filter(({ newestMs }) => newestMs > expiredMs);
  return following(left, parts[0]?.after, parts.at(-1)?.until);
}

/** The epochs of parts that went are those of their neighbours: none of their ids is kept. */
function following(parts: readonly IdsPart[], after = 0, until = 0): IdsPart[] {
  return parts.map((part, index) => ({
    ...part,
    after: parts[index - 1]?.until ?? after,
    until: index === parts.length - 1 ? until : part.until,
  }));
}

/** Null: no neighbours fit into one part. */
function cheapest(
  parts: readonly IdsPart[],
  isOld: (part: IdsPart) => boolean,
  partBytesMax: number,
): readonly IdsPart[] | null {
  let best: readonly IdsPart[] | null = null;
  let bestCost = Number.POSITIVE_INFINITY;
  for (const first of parts.keys()) {
    for (let count = 2; count <= MERGED_MAX && first + count <= parts.length; count++) {
      const group = parts.slice(first, first + count);
      const byteLength = bytesOf(group);
      if (byteLength > partBytesMax || !group.every(isOld)) break;
      const cost = byteLength / (count - 1);
      if (cost < bestCost) [best, bestCost] = [group, cost];
    }
  }
  return best;
}
