/**
 * Reads on in one shard, page by page, and proves of each page that no record is missing before it. Kinesis goes on at its
 * oldest record where the next one has expired, and does not say so.
 *
 * Invariant: what `read` returns lies directly after what it returned before. It is proved by one of
 * - the page begins with the record that was asked for;
 * - the time is not yet come when anything after the record before could have expired;
 * - the record before is still there, seen after the page was read: records expire in order.
 */
import { assert } from '../../../core/assert.ts';
import { TransientFault } from '../../../core/faults.ts';
import { GET_RECORDS_BYTES_MAX, GET_RECORDS_COUNT_MAX } from '../../../core/limits.ts';
import type { Clock, StreamRecord } from '../../../core/ports.ts';
import { compareSequenceNumbers, type Position } from '../../../core/position.ts';
import { awsFault } from '../aws-faults.ts';
import type { KinesisPages, ReadFrom } from './kinesis-pages.ts';

export type CursorBeginning =
  /** At a record that must be there; `isRead`: it was read before, so directly after it. */
  | { readonly kind: 'record'; readonly sequenceNumber: string; readonly isRead: boolean }
  /** At the oldest record, or where the pipeline begins; nothing after that expires before `soundUntilMs`. */
  | { readonly kind: 'start' | 'horizon'; readonly soundUntilMs: number };

export type CursorRead =
  | {
      readonly outcome: 'records';
      readonly records: StreamRecord[];
      readonly reachedTip: boolean;
    }
  /** It cannot be proved what follows. `oldest` is the first record that was found, if any. The cursor is of no more use. */
  | { readonly outcome: 'lost'; readonly oldest: Position | null };

export interface ReadBounds {
  /** Records of one answer. */
  readonly limit: number;
  /** False when no more calls should be made; asked after each, with the count of calls and of records so far. */
  readonly mayGoOn: (calls: number, records: number) => boolean;
}

export interface CursorOptions {
  readonly shardId: string;
  readonly pages: KinesisPages;
  readonly clock: Clock;
  /** A record is surely in the stream until so long after its arrival. */
  readonly surelyKeptMs: number;
  /** Waits between calls. */
  readonly pause: (reason: 'next' | 'throttled') => Promise<void>;
}

type Step =
  | { readonly outcome: 'records'; readonly records: StreamRecord[]; readonly atTip: boolean }
  | { readonly outcome: 'throttled'; readonly error: unknown }
  | (CursorRead & { outcome: 'lost' });

const NOTHING: Step = { outcome: 'records', records: [], atTip: false };

export class ShardCursor {
  readonly #options: CursorOptions;
  /** Where to open the next iterator: the last record that was read, once there is one. */
  #from: CursorBeginning;
  #soundUntilMs: number;
  #iterator: string | null = null;
  /** What the next page that brings records must begin with. */
  #expects: string | null = null;
  /** Read, not given out. */
  #ahead: StreamRecord[] = [];

  constructor(beginning: CursorBeginning, options: CursorOptions) {
    this.#options = options;
    this.#from = beginning;
    this.#soundUntilMs = beginning.kind === 'record' ? -Infinity : beginning.soundUntilMs;
  }

  get keptMs(): number {
    return this.#options.surelyKeptMs;
  }

  /** True if it has an iterator to go on with, which saves the way back to the last record. */
  get isOpen(): boolean {
    return this.#iterator !== null;
  }

  async read({ limit, mayGoOn }: ReadBounds): Promise<CursorRead> {
    assert(limit > 0, 'read-limit-is-positive');
    const records = this.#ahead.splice(0);
    let atTip = false;
    let throttle: unknown = null;
    for (let calls = 0; records.length < limit && !atTip; calls++) {
      if (calls > 0) {
        if (!mayGoOn(calls, records.length) || isHeavy(records)) break;
        await this.#options.pause(throttle === null ? 'next' : 'throttled');
      }
      const step = await this.#stepAfter(records, limit);
      if (step === null) break;
      if (step.outcome === 'lost') {
        if (records.length === 0) return step;
        break;
      }
      throttle = step.outcome === 'throttled' ? step.error : null;
      if (step.outcome === 'throttled') continue;
      records.push(...step.records);
      atTip = step.atTip;
    }
    if (records.length === 0 && throttle !== null) {
      throw awsFault(`read ${this.#options.shardId}`, throttle);
    }
    this.#ahead = records.splice(limit);
    return { outcome: 'records', records, reachedTip: atTip && this.#ahead.length === 0 };
  }

  /** The next page, or null if it did not come and there are records to answer with. */
  async #stepAfter(records: readonly StreamRecord[], limit: number): Promise<Step | null> {
    try {
      // One more than asked for tells whether anything follows.
      return await this.#step(limit - records.length + 1);
    } catch (fault) {
      if (fault instanceof TransientFault && records.length > 0) return null;
      throw fault;
    }
  }

  async #step(countMax: number): Promise<Step> {
    const { pages, shardId } = this.#options;
    if (this.#iterator === null) {
      this.#iterator = await pages.open(shardId, readFrom(this.#from));
      this.#expects = this.#from.kind === 'record' ? this.#from.sequenceNumber : null;
    }
    const count = countMax + (this.#expects === null ? 0 : 1);
    const page = await pages.read(shardId, this.#iterator, Math.min(count, GET_RECORDS_COUNT_MAX));
    if (page.outcome === 'throttled') return page;
    if (page.outcome === 'expired') {
      this.#iterator = null;
      return NOTHING;
    }
    const { records, atTip } = page;
    if (records.length > 0 || atTip) {
      const lost = await this.#proveNext(records);
      if (lost !== null) return lost;
    }
    this.#iterator = page.next;
    return { outcome: 'records', records: this.#take(records), atTip };
  }

  /** Null if `records` are what follows directly, be it nothing. */
  async #proveNext(records: readonly StreamRecord[]): Promise<(Step & { outcome: 'lost' }) | null> {
    const { clock } = this.#options;
    if (this.#expects !== null) {
      return records[0]?.sequenceNumber === this.#expects ? null : lostBefore(records);
    }
    // A clock that is behind proves nothing: what the page brings has arrived.
    const nowMs = Math.max(clock.nowMs(), records.at(-1)?.arrivalMs ?? 0);
    if (nowMs < this.#soundUntilMs) return null;
    return this.#from.kind === 'record'
      ? this.#proveKept(this.#from.sequenceNumber)
      : lostBefore(records);
  }

  /** Null if a record that was read is still there, and with it all that came after. */
  async #proveKept(sequenceNumber: string): Promise<(Step & { outcome: 'lost' }) | null> {
    const { pages, shardId, pause } = this.#options;
    await pause('next');
    const iterator = await pages.open(shardId, { kind: 'record', sequenceNumber });
    const page = await pages.read(shardId, iterator, 1);
    if (page.outcome !== 'page') {
      throw new TransientFault(`cannot see whether ${shardId} still has ${sequenceNumber}`);
    }
    return page.records[0]?.sequenceNumber === sequenceNumber ? null : lostBefore(page.records);
  }

  /** Those of `records` that were not read before; the cursor stands after them. */
  #take(records: StreamRecord[]): StreamRecord[] {
    const last = records.at(-1);
    if (last === undefined) return records;
    const { surelyKeptMs } = this.#options;
    const anchor = this.#expects;
    const isRead = anchor !== null && this.#from.kind === 'record' && this.#from.isRead;
    const next = isRead ? records.slice(1) : records;
    const before = this.#from.kind === 'record' ? this.#from.sequenceNumber : null;
    assertAscend(isRead || anchor === null ? before : null, next);
    this.#expects = null;
    this.#from = { kind: 'record', sequenceNumber: last.sequenceNumber, isRead: true };
    this.#soundUntilMs = last.arrivalMs + surelyKeptMs;
    return next;
  }
}

function readFrom(beginning: CursorBeginning): ReadFrom {
  if (beginning.kind !== 'record') return { kind: beginning.kind };
  return { kind: 'record', sequenceNumber: beginning.sequenceNumber };
}

function lostBefore([first]: readonly StreamRecord[]): Step & { outcome: 'lost' } {
  const oldest =
    first === undefined ? null : { sequenceNumber: first.sequenceNumber, subSequence: 0 };
  return { outcome: 'lost', oldest };
}

function isHeavy(records: readonly StreamRecord[]): boolean {
  let bytes = 0;
  for (const { data } of records) bytes += data.byteLength;
  return bytes >= GET_RECORDS_BYTES_MAX;
}

function assertAscend(before: string | null, records: readonly StreamRecord[]): void {
  let previous = before;
  for (const { sequenceNumber } of records) {
    const ascends = previous === null || compareSequenceNumbers(sequenceNumber, previous) > 0;
    assert(ascends, 'records-of-a-shard-ascend', () => `${sequenceNumber} after ${previous}`);
    previous = sequenceNumber;
  }
}
