/**
 * Tails of changes: late partials and dedupe ids, as the delta of an epoch has them. In a merged change they stand one by one, each
 * with its epoch, since runs and parts of ids may have those of some epochs already.
 */
import { ByteReader } from '../bytes.ts';
import { ID_BYTES } from './dedupe-ids.ts';
import { type ChangeVisitor, decodeTail } from './state-change.ts';

export interface ChangeTail {
  readonly epoch: number;
  readonly bytes: Uint8Array;
}

/** What is in runs and in parts of ids already. */
export interface TailCoverage {
  /** Late partials of epochs up to this one are. */
  readonly lateUntil: number;
  /** So are ids. */
  readonly idsUntil: number;
}

/** Is told what a change says, entry by entry. `ordinal` is that of the key in its window, where it is now. */
export interface ChangeObserver {
  noteEntry(view: number, windowStartMs: number, key: Uint8Array, ordinal: number): void;
  /** Late partials and ids, as they are stored; valid during the call. */
  noteTail(epoch: number, bytes: Uint8Array): void;
}

export const NOTHING_COVERED: TailCoverage = { lateUntil: 0, idsUntil: 0 };

type TailVisitor = Pick<ChangeVisitor, 'entry' | 'dedupe'>;

/** Visits what of the tails is not covered, and tells of each; it has late partials of so many views. */
export function decodeTails(
  tails: readonly ChangeTail[],
  viewCount: number,
  covered: TailCoverage,
  visitor: TailVisitor,
  observer: Pick<ChangeObserver, 'noteTail'> | null,
): void {
  for (const { epoch, bytes } of tails) {
    const reader = new ByteReader(bytes);
    decodeTail(reader, viewCount, uncovered(epoch, covered, visitor));
    reader.end();
    observer?.noteTail(epoch, bytes);
  }
}

/** A visitor of what an epoch's change has that is not covered. */
export function uncovered<Visitor extends TailVisitor>(
  epoch: number,
  { lateUntil, idsUntil }: TailCoverage,
  visitor: Visitor,
): Visitor {
  return {
    ...visitor,
    entry: (view, section, windowStartMs, key, ahead) => {
      if (section === 'late' && epoch <= lateUntil) ahead.bytes();
      else visitor.entry(view, section, windowStartMs, key, ahead);
    },
    dedupe: (life, ids) => {
      if (epoch <= idsUntil) ids.raw(ids.varint() * ID_BYTES);
      else visitor.dedupe(life, ids);
    },
  };
}
