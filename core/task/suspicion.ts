/**
 * Records that kill their environment: by its memory or by time. Whoever restores a slice writes down where it is about to
 * fold; whoever finds that note at the position where it restores knows that an environment died there. An innocent death
 * now and then changes nothing; one that repeats narrows the commits down to the record, which is then put aside.
 *
 *   deaths at one position:   1        2          3        …                 3 with a single record
 *   records of a commit:      all      all / 8    / 64     …  1              that record goes to the quarantine
 */
import type { Suspicion } from '../ports.ts';
import { comparePositions, type Position } from '../position.ts';

export interface SuspicionDecision {
  /** What to write down before folding. */
  readonly note: Suspicion;
  /** Commit after so many records; null: as ever. */
  readonly chunkRecords: number | null;
  /** The next record is to be put aside unread. */
  readonly condemned: boolean;
}

const SHRINK = 8;
const DEATHS_BEFORE_SHRINKING = 2;
const DEATHS_OF_ONE_RECORD = 3;

/** `upcoming` is how many records the owner is about to fold at most. */
export function decideSuspicion(
  found: Suspicion | null,
  position: Position,
  upcoming: number,
): SuspicionDecision {
  const isHere = found !== null && comparePositions(found.position, position) === 0;
  if (!isHere) return decided(position, 0, Math.max(1, upcoming), false);
  const deaths = found.deaths + 1;
  if (found.chunkRecords === 1) return decided(position, deaths, 1, true);
  if (deaths < DEATHS_BEFORE_SHRINKING) {
    return decided(position, deaths, found.chunkRecords, false);
  }
  const chunkRecords = Math.max(1, Math.floor(found.chunkRecords / SHRINK));
  // From here on each death shrinks it; a single record is given its own three.
  return decided(position, chunkRecords === 1 ? 0 : 1, chunkRecords, true);
}

/** After a commit of a small chunk that went well: larger again, at the new position. */
export function relaxedSuspicion(note: Suspicion, position: Position): Suspicion {
  return { position, deaths: 0, chunkRecords: note.chunkRecords * SHRINK };
}

function decided(
  position: Position,
  deaths: number,
  chunkRecords: number,
  cautious: boolean,
): SuspicionDecision {
  const { sequenceNumber, subSequence } = position;
  return {
    note: { position: { sequenceNumber, subSequence }, deaths, chunkRecords },
    chunkRecords: cautious ? chunkRecords : null,
    condemned: chunkRecords === 1 && deaths >= DEATHS_OF_ONE_RECORD,
  };
}
