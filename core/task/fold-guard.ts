/**
 * Folding with an eye on records that end badly: one that throws is put aside at its second try, one that kills its
 * environment is found by the notes that a restore leaves (see suspicion.ts).
 */
import type { BadRecord } from '../decode/record-decoder.ts';
import { isFault, TransientFault } from '../faults.ts';
import type { StreamRecord, Suspicion, SuspicionStore } from '../ports.ts';
import { comparePositions, type Position } from '../position.ts';
import type { SliceState } from '../state/slice-state.ts';
import { decideSuspicion, relaxedSuspicion } from './suspicion.ts';

/** Folding this record threw: the memory is of no more use, and the record will be put aside. */
export class FailedRecord extends Error {
  readonly position: Position;

  constructor(position: Position, cause: unknown) {
    super(`folding ${position.sequenceNumber} failed`, { cause });
    this.position = position;
  }
}

export class FoldGuard {
  readonly #sliceId: string;
  readonly #suspicions: SuspicionStore;
  #failed: FailedRecord | null = null;
  /** What was found when this memory was restored, and what was written then; null: nothing was. */
  #armed: { readonly found: Suspicion | null; note: Suspicion } | null = null;
  #chunkRecords: number | null = null;
  #condemnsNext = false;

  constructor(sliceId: string, suspicions: SuspicionStore) {
    this.#sliceId = sliceId;
    this.#suspicions = suspicions;
  }

  /** Commit after so many records; null: as ever. */
  get chunkRecords(): number | null {
    return this.#chunkRecords;
  }

  /** After a restore and before the first record: leaves a note that only a death leaves behind. */
  async arm(position: Position, upcoming: number): Promise<void> {
    const armed = this.#armed;
    if (armed !== null) {
      // Restored again in one invocation: the note is our own, and nobody died.
      if (comparePositions(armed.note.position, position) === 0) return;
      const { note } = decideSuspicion(null, position, upcoming);
      await this.#suspicions.write(this.#sliceId, note);
      this.#armed = { found: null, note };
      return;
    }
    const found = await this.#suspicions.read(this.#sliceId);
    const { note, chunkRecords, condemned } = decideSuspicion(found, position, upcoming);
    await this.#suspicions.write(this.#sliceId, note);
    this.#armed = { found, note };
    this.#chunkRecords = chunkRecords;
    this.#condemnsNext = condemned;
  }

  fold(record: StreamRecord, state: SliceState): void {
    const condemned = this.#condemn(record);
    this.#condemnsNext = false;
    try {
      state.fold(record, condemned);
    } catch (error) {
      if (isFault(error)) throw error;
      throw new FailedRecord(record, error);
    }
  }

  /** Folding threw: the next try puts the record aside. */
  failed(failure: FailedRecord): void {
    this.#failed = failure;
  }

  /** A small chunk was committed: the next may be larger, and is noted at its own position. */
  async relax(position: Position): Promise<void> {
    if (this.#armed === null) return;
    const note = relaxedSuspicion(this.#armed.note, position);
    await this.#suspicions.write(this.#sliceId, note);
    this.#armed = { found: null, note };
    this.#chunkRecords = note.chunkRecords;
  }

  /** The invocation ended, well or with a fault, and nobody died: what was found before stands again. */
  async disarm(): Promise<void> {
    const armed = this.#armed;
    this.#armed = null;
    this.#chunkRecords = null;
    this.#condemnsNext = false;
    if (armed === null) return;
    try {
      await this.#suspicions.write(this.#sliceId, armed.found);
    } catch (fault) {
      // A note that stays counts one death too many; three of them at one record are needed.
      if (!(fault instanceof TransientFault)) throw fault;
    }
  }

  #condemn(record: StreamRecord): BadRecord | null {
    const failed = this.#failed;
    if (failed !== null && comparePositions(failed.position, record) === 0) {
      const what = failed.cause instanceof Error ? failed.cause.name : typeof failed.cause;
      return { reason: 'fold-failed', detail: `folding it threw ${what}` };
    }
    if (!this.#condemnsNext) return null;
    const detail = 'environments died again and again while they folded this record alone';
    return { reason: 'kills-its-environment', detail };
  }
}
