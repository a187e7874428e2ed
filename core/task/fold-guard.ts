/**
 * Folding with an eye on records that end badly: one that throws is quarantined at its second try, one that kills its
 * environment is found by the notes that are left before folding (see suspicion.ts).
 */
import type { BadRecord } from '../decode/record-decoder.ts';
import { isFault, TransientFault } from '../faults.ts';
import type { StreamRecord, Suspicion, SuspicionStore } from '../ports.ts';
import { comparePositions, type Position, sortablePosition } from '../position.ts';
import type { ClosedEntry } from '../state/closed-entries.ts';
import type { LedgerRecord } from '../state/quarantine-ledger.ts';
import type { RedriveResult, SliceState } from '../state/slice-state.ts';
import { decideSuspicion, relaxed, survived } from './suspicion.ts';

/** Folding this record threw: the memory is of no more use, and the record will be quarantined. */
export class FailedRecord extends Error {
  readonly position: Position;

  constructor(position: Position, cause: unknown) {
    super(`folding ${position.sequenceNumber} failed`, { cause });
    this.position = position;
  }
}

/** `watching`: the memory was restored in this invocation, and no note was written yet. */
type Watch =
  | { readonly kind: 'off' }
  | { readonly kind: 'watching' }
  | {
      readonly kind: 'noted';
      readonly found: Suspicion | null;
      readonly note: Suspicion;
      readonly isCautious: boolean;
    };

/** Records that are remembered to have thrown. */
const FAILED_MAX = 1_000;

export class FoldGuard {
  readonly #sliceId: string;
  readonly #suspicions: SuspicionStore;
  #watch: Watch = { kind: 'off' };
  /** By position: each of a batch's is quarantined at its own second try. */
  readonly #failed = new Map<string, FailedRecord>();
  #condemnsNext = false;
  /** The Kinesis record that was condemned last: which of the records inside kills, nothing tells. */
  #condemned: Position | null = null;

  constructor(sliceId: string, suspicions: SuspicionStore) {
    this.#sliceId = sliceId;
    this.#suspicions = suspicions;
  }

  /** Commit after so many records; null: as ever. */
  get chunkRecords(): number | null {
    return this.#watch.kind === 'noted' && this.#watch.isCautious
      ? this.#watch.note.chunkRecords
      : null;
  }

  /** The memory was restored: it may be that the environment before died of what comes now. */
  watch(): void {
    if (this.#watch.kind === 'off') this.#watch = { kind: 'watching' };
  }

  /** Directly before records are folded: leaves a note that only a death leaves behind. */
  async begin(position: Position, upcoming: number): Promise<void> {
    const watch = this.#watch;
    if (watch.kind === 'off') return;
    if (watch.kind === 'watching') {
      const found = await this.#suspicions.read(this.#sliceId);
      const { note, isCautious, condemned } = decideSuspicion(found, position, upcoming);
      await this.#suspicions.write(this.#sliceId, note);
      this.#watch = { kind: 'noted', found, note, isCautious };
      this.#condemnsNext = condemned;
    } else if (watch.isCautious) {
      const isSame = comparePositions(watch.note.position, position) === 0;
      // What threw before the end is folded once more: the deaths that the note counts are still to be explained.
      if (isSame && watch.note.attempts > 0) return;
      const note = isSame ? { ...watch.note, attempts: 1 } : relaxed(watch.note, position);
      await this.#suspicions.write(this.#sliceId, note);
      this.#watch = { ...watch, found: null, note };
    }
  }

  fold(record: StreamRecord, state: SliceState): void {
    const condemned = this.#condemn(record);
    this.#condemnsNext = false;
    try {
      state.fold(record, condemned);
    } catch (error) {
      throw faultOf(record, error);
    }
  }

  /** See `SliceState.redrive`; a record that threw is bad at its second try. */
  redrive(
    record: StreamRecord & LedgerRecord,
    state: SliceState,
    stored: readonly ClosedEntry[],
  ): RedriveResult {
    const bad = this.#failureOf(record);
    if (bad !== null) return { outcome: 'still-bad', bad };
    try {
      return state.redrive(record, stored);
    } catch (error) {
      throw faultOf(record, error);
    }
  }

  /** Folding threw: the next try puts the record aside. */
  failed(failure: FailedRecord): void {
    const oldest = this.#failed.keys().next();
    if (this.#failed.size >= FAILED_MAX && !oldest.done) this.#failed.delete(oldest.value);
    this.#failed.set(sortablePosition(failure.position), failure);
  }

  /** The records are folded, and the environment lives: whatever becomes of their commit is not their fault. */
  async end(): Promise<void> {
    const watch = this.#watch;
    if (watch.kind !== 'noted' || !watch.isCautious) return;
    const note = survived(watch.note);
    await this.#suspicions.write(this.#sliceId, note);
    this.#watch = { ...watch, note };
  }

  /** The invocation ended, well or with a fault, and no environment died. A suspicion at a position that the cursor has left means nothing. */
  async disarm(cursor: Position | null): Promise<void> {
    const watch = this.#watch;
    this.#watch = { kind: 'off' };
    this.#condemnsNext = false;
    if (watch.kind !== 'noted' || watch.note.attempts === 0) return;
    if (cursor !== null && comparePositions(cursor, watch.note.position) !== 0) return;
    try {
      await this.#suspicions.write(this.#sliceId, watch.found);
    } catch (fault) {
      // A note that stays counts one death too many; it takes several at one record.
      if (!(fault instanceof TransientFault)) throw fault;
    }
  }

  /** What was condemned stays so: a lost race takes the quarantining back, and the record is not read once more for that. */
  #condemn(record: StreamRecord): BadRecord | null {
    const bad = this.#failureOf(record);
    if (bad !== null) return bad;
    if (this.#condemnsNext) this.#condemned = record;
    if (this.#condemned === null || comparePositions(this.#condemned, record) !== 0) return null;
    const detail = 'environments died again and again while they folded this record alone';
    return { reason: 'kills-its-environment', detail };
  }

  #failureOf(record: StreamRecord): BadRecord | null {
    if (this.#failed.size === 0) return null;
    const failed = this.#failed.get(sortablePosition(record));
    if (failed === undefined) return null;
    const what = failed.cause instanceof Error ? failed.cause.name : typeof failed.cause;
    return { reason: 'fold-failed', detail: `folding it threw ${what}` };
  }
}

/** A machine that has no more memory is no fault of the record; a record that is nested too deep for its stack is. */
function faultOf(record: StreamRecord, error: unknown): unknown {
  if (isFault(error)) return error;
  const isAllocation = error instanceof RangeError && !/call stack/i.test(error.message);
  if (!isAllocation) return new FailedRecord(record, error);
  return new TransientFault(
    `folding ${record.sequenceNumber} needs more memory: ${error.message}`,
    {
      hint: 'give the environment more memory, or the stream more shards',
      cause: error,
    },
  );
}
