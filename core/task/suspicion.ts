/**
 * Records that kill their environment, by its memory or by time. An owner that restores a slice writes down where it begins to
 * fold; an owner that finds such a suspicion at the position where it restores knows that an environment died there. An innocent death
 * now and then changes nothing; one that repeats narrows the commits down to the record, which is then quarantined.
 *
 *   deaths at one position:   1        2          3         …        3 with a single record
 *   records of a commit:      all      all / 8    all / 64  …  1     that record goes to the quarantine
 *
 * From the first death on, the note is settled once the records are folded: dying while they are stored is not their fault.
 */
import type { Suspicion } from '../ports.ts';
import { comparePositions, type Position } from '../position.ts';

export interface SuspicionDecision {
  /** What to write down before folding. */
  readonly note: Suspicion;
  /** An environment died here: commit after `note.chunkRecords`, and settle the note before each commit. */
  readonly isCautious: boolean;
  /** The next record is to be quarantined unread. */
  readonly condemned: boolean;
}

const SHRINK = 8;
/** Growing as fast as it shrank would narrow it down to the same record all over again. */
const GROW = 2;
const DEATHS_BEFORE_SHRINKING = 2;
const DEATHS_OF_ONE_RECORD = 3;

/** `upcoming` is how many records the owner is about to fold at most. */
export function decideSuspicion(
  found: Suspicion | null,
  position: Position,
  upcoming: number,
): SuspicionDecision {
  const isHere = found !== null && comparePositions(found.position, position) === 0;
  if (!isHere) return decided(position, 1, Math.max(1, upcoming), false);
  const { attempts: deaths, chunkRecords } = found;
  if (chunkRecords > 1 && deaths >= DEATHS_BEFORE_SHRINKING) {
    const smaller = Math.max(1, Math.floor(chunkRecords / SHRINK));
    // A single record is given three deaths of its own.
    return decided(position, smaller === 1 ? 1 : deaths + 1, smaller, true);
  }
  const condemned = chunkRecords === 1 && deaths >= DEATHS_OF_ONE_RECORD;
  return { ...decided(position, deaths + 1, chunkRecords, true), condemned };
}

/** The records of a note were folded, and the environment lives. */
export function survived(note: Suspicion): Suspicion {
  return { ...note, attempts: 0 };
}

/** After a small chunk was committed: the next may be larger, and is noted at its own position. */
export function relaxed(note: Suspicion, position: Position): Suspicion {
  return decided(position, 1, note.chunkRecords * GROW, true).note;
}

function decided(
  { sequenceNumber, subSequence }: Position,
  attempts: number,
  chunkRecords: number,
  isCautious: boolean,
): SuspicionDecision {
  const position = { sequenceNumber, subSequence };
  return { note: { position, attempts, chunkRecords }, isCautious, condemned: false };
}
