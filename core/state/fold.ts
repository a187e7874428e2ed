/**
 * Folding one record: judged first, as a whole, and only then folded into every view, so that a bad record leaves no
 * trace but its quarantine entry. A pure function of the log: batch boundaries, clocks and owners change nothing.
 *
 *   heartbeat → too large → undecodable or wrong → time out of bounds → known id → per view: selected? late? → fold → watermark
 */
import { assert } from '../assert.ts';
import type { BadRecord, RecordDecoder, RecordFields } from '../decode/record-decoder.ts';
import type { Plan, ViewPlan } from '../definition/plan.ts';
import { hashText } from '../hash.ts';
import { REDRIVEN_AHEAD_MS_MAX } from '../limits.ts';
import type { StreamRecord } from '../ports.ts';
import { comparePositions } from '../position.ts';
import type { WindowAssigner } from '../time/window.ts';
import type { RecordClass } from './counters.ts';
import { expiredBy } from './dedupe-life.ts';
import { SequenceHash } from './digest.ts';
import { GroupKeyBuffer } from './group-key.ts';
import { afterHeartbeat, afterRecord, isHeartbeat } from './heartbeat.ts';
import type { LedgerStanding } from './ledger-standing.ts';
import {
  enterQuarantined,
  enterRedriven,
  type LedgerRecord,
  ledgerNameOf,
  waitsForView,
} from './quarantine-ledger.ts';
import { RecordCheck, selects } from './record-check.ts';
import type { SliceImage } from './slice-image.ts';
import type { Uncommitted } from './uncommitted.ts';
import type { ViewLife } from './view-life.ts';
import type { ViewTable } from './view-table.ts';

export class RecordFold {
  readonly #plan: Plan;
  readonly #check: RecordCheck;
  readonly #shardId: string;
  readonly #sequenceHash: SequenceHash;
  readonly #withinMs: number;
  /** Of the record that was judged last. */
  readonly #fields: RecordFields;
  readonly #dedupeId = new Uint32Array(4);
  readonly #key = new GroupKeyBuffer();

  constructor(plan: Plan, decoder: RecordDecoder, shardId: string) {
    this.#plan = plan;
    this.#check = new RecordCheck(plan, decoder);
    this.#shardId = shardId;
    this.#sequenceHash = new SequenceHash(shardId);
    this.#withinMs = plan.dedupe?.withinMs ?? 0;
    this.#fields = this.#check.fields;
  }

  /** Folds the record that follows the position. With `condemned` it is quarantined unread. */
  fold(
    record: StreamRecord,
    image: SliceImage,
    since: Uncommitted,
    condemned: BadRecord | null = null,
  ): void {
    const { progress } = since;
    const begins = comparePositions(record, progress.position) > 0;
    const isAlone = record.lastSubSequence === undefined;
    if (!begins || since.isInside || !isAlone) goInside(record, begins, since);
    const outcome = this.#consume(record, image, since, condemned);
    progress.position = {
      sequenceNumber: record.sequenceNumber,
      subSequence: record.subSequence,
    };
    progress.newestArrivalMs = Math.max(progress.newestArrivalMs, record.arrivalMs);
    if (begins) progress.digest.add(record.sequenceNumber, this.#sequenceHash);
    progress.recordCount++;
    progress.counts[outcome]++;
  }

  /**
   * Folds a record that was quarantined, into windows that have closed too, and moves no watermark. `views` is what of it
   * waits (null: the record as a whole). Says why if it is still bad: nothing is changed then.
   */
  redrive(
    record: StreamRecord & LedgerRecord,
    { waiting, counted }: LedgerStanding,
    image: SliceImage,
    since: Uncommitted,
  ): BadRecord | null {
    const bad = this.#check.judge(record);
    if (bad !== null) return bad;
    const timeMs = this.#fields.timeMs ?? record.arrivalMs;
    const { progress } = since;
    // Asked in any case: it hashes the id that is kept below.
    const isKnown = this.#isDuplicate(timeMs, image, since);
    // One that a view has folded before left its own id.
    const isDuplicate = counted && isKnown;
    let outcome: RecordClass = isDuplicate ? 'duplicates' : 'unmatched';
    const names = ledgerNames(image);
    for (let index = 0; !isDuplicate && index < this.#plan.views.length; index++) {
      const view = this.#plan.views[index] as ViewPlan;
      if (!selects(view, this.#fields)) continue;
      if (!waiting.includes(null) && !waitsForView(waiting, index, names)) continue;
      const window = image.windows[index] as WindowAssigner;
      const startMs = window.startOf(timeMs);
      if (window.endOf(startMs) > progress.watermarkMs) {
        this.#foldOpen(index, startMs, image);
      } else this.#foldLate(index, startMs, since);
      outcome = 'folded';
    }
    if (outcome === 'folded') this.#keepId(timeMs, since);
    if (!isDuplicate) {
      // One outlier that is let in must not keep all that begins later from ever being whole.
      const boundedMs = Math.min(timeMs, record.arrivalMs + REDRIVEN_AHEAD_MS_MAX);
      progress.newestMs = Math.max(progress.newestMs, boundedMs);
    }
    if (counted) {
      progress.counts.quarantined--;
      progress.counts[outcome]++;
    } else progress.partlyQuarantined--;
    enterRedriven(ledgerOf(since), record, waiting);
    return null;
  }

  #consume(
    record: StreamRecord,
    image: SliceImage,
    since: Uncommitted,
    condemned: BadRecord | null,
  ): RecordClass {
    const { idleMs, latenessMs } = this.#plan;
    const { progress } = since;
    if (condemned === null && isHeartbeat(record.data)) {
      // Of a plan before this one, where this one has no use for it.
      if (idleMs === null) return 'heartbeats';
      progress.shardTime = afterHeartbeat(progress.shardTime, record.arrivalMs, idleMs);
      const passedMs = progress.shardTime.confirmedMs - latenessMs - idleMs;
      progress.watermarkMs = Math.max(progress.watermarkMs, passedMs);
      return 'heartbeats';
    }
    progress.shardTime = afterRecord(progress.shardTime, record.arrivalMs);
    if (condemned !== null) return this.#quarantine(record, condemned, since);
    const bad = this.#check.judge(record);
    return bad === null
      ? this.#foldSound(record, image, since)
      : this.#quarantine(record, bad, since);
  }

  #foldSound(record: StreamRecord, image: SliceImage, since: Uncommitted): RecordClass {
    const { progress } = since;
    const timeMs = this.#fields.timeMs ?? record.arrivalMs;
    if (this.#isDuplicate(timeMs, image, since)) return 'duplicates';
    let folded = false;
    let matched = false;
    let isDropped = false;
    const lateViews: number[] = [];
    for (let index = 0; index < this.#plan.views.length; index++) {
      const view = this.#plan.views[index] as ViewPlan;
      if (!selects(view, this.#fields)) continue;
      matched = true;
      const window = image.windows[index] as WindowAssigner;
      const startMs = window.startOf(timeMs);
      if (window.endOf(startMs) > progress.watermarkMs) {
        this.#foldOpen(index, startMs, image);
        folded = true;
      } else if (view.late === 'update') {
        this.#foldLate(index, startMs, since);
        folded = true;
      } else if (view.late === 'side') lateViews.push(index);
      else {
        progress.lateDrops++;
        isDropped = true;
      }
    }
    if (folded) {
      this.#keepId(timeMs, since);
      if (isDropped) progress.partlyDropped++;
      if (this.#fields.dedupeId !== null && timeMs <= progress.watermarkMs - this.#withinMs)
        progress.pastDedupe++;
    }
    progress.newestMs = Math.max(progress.newestMs, timeMs);
    progress.highMs = Math.max(progress.highMs, timeMs);
    progress.watermarkMs = Math.max(progress.watermarkMs, timeMs - this.#plan.latenessMs);
    if (lateViews.length > 0) {
      const names = ledgerNames(image);
      const quoted = lateViews.map((index) => `'${this.#plan.views[index]?.name}'`).join(', ');
      const late: BadRecord = { reason: 'late', detail: `its window had closed in ${quoted}` };
      const waiting = lateViews.map((index) => names[index] as string);
      this.#quarantine(record, late, since, waiting, !folded);
      if (folded) progress.partlyQuarantined++;
    }
    if (folded) return 'folded';
    if (!matched) return 'unmatched';
    return lateViews.length > 0 ? 'quarantined' : 'late';
  }

  #quarantine(
    record: StreamRecord,
    bad: BadRecord,
    since: Uncommitted,
    views: readonly (string | null)[] = [null],
    counted = true,
  ): RecordClass {
    const { sequenceNumber, subSequence, partitionKey, arrivalMs, data } = record;
    const named = { shardId: this.#shardId, sequenceNumber, subSequence };
    enterQuarantined(ledgerOf(since), named, views, counted);
    const { reason, detail } = bad;
    since.quarantined.push({
      sequenceNumber,
      subSequence,
      partitionKey,
      arrivalMs,
      data,
      reason,
      detail,
    });
    return 'quarantined';
  }

  #foldOpen(index: number, startMs: number, image: SliceImage): void {
    const table = image.tables[index] as ViewTable;
    const { bytes, length, hash } = this.#keyOf(table.view);
    this.#addValues(table, table.touch(startMs, bytes, length, hash));
  }

  #foldLate(index: number, startMs: number, since: Uncommitted): void {
    const table = since.late[index] as ViewTable;
    const { bytes, length, hash } = this.#keyOf(table.view);
    let slot = table.find(startMs, bytes, length, hash);
    if (slot < 0) slot = table.insert(startMs, bytes, length, hash);
    this.#addValues(table, slot);
  }

  #keyOf(view: ViewPlan): GroupKeyBuffer {
    this.#key.write(view.groupBy, this.#fields.values);
    return this.#key;
  }

  #addValues(table: ViewTable, slot: number): void {
    const { columns } = table.view;
    const { values } = this.#fields;
    for (let index = 0; index < columns.length; index++) {
      const { field } = columns[index] as (typeof columns)[number];
      if (field === null) table.add(slot, index, 1);
      else {
        const value = values[field];
        if (value === undefined || value === null) continue;
        // A number, since that is what the decoder asks of the field; a count takes whatever is there for one.
        table.add(slot, index, value as number);
      }
    }
  }

  /** An id is known for `within` of event time, by the watermark or by the record's own time: whichever is later. */
  #isDuplicate(timeMs: number, image: SliceImage, since: Uncommitted): boolean {
    const { dedupeId } = this.#fields;
    if (dedupeId === null) return false;
    hashText(dedupeId, this.#dedupeId);
    const expiredMs = Math.max(this.#expiredMs(image, since), timeMs - this.#withinMs);
    return since.hasId(this.#dedupeId, expiredMs) || image.dedupeIds.has(this.#dedupeId, expiredMs);
  }

  #expiredMs({ dedupe }: SliceImage, { progress }: Uncommitted): number {
    return expiredBy(dedupe, progress.watermarkMs);
  }

  #keepId(timeMs: number, since: Uncommitted): void {
    const { dedupe } = this.#plan;
    if (dedupe === null || this.#fields.dedupeId === null) return;
    const { watermarkMs } = since.progress;
    const countedFromMs = Math.max(timeMs, watermarkMs);
    since.dedupeIds.add(this.#dedupeId, countedFromMs);
  }
}

export function ledgerNames({ plan, lives }: SliceImage): string[] {
  return plan.views.map(({ name }, index) => ledgerNameOf(lives[index] as ViewLife, name));
}

/**
 * Notes how far the record goes into its Kinesis record. What is folded first after a commit is above the cursor by its sequence
 * number, since a commit falls behind the last inside.
 */
function goInside(record: StreamRecord, begins: boolean, since: Uncommitted): void {
  const { position } = since.progress;
  const { subSequence, lastSubSequence = subSequence } = record;
  const goesOn = subSequence > position.subSequence && lastSubSequence === since.lastSubSequence;
  const isInOrder = comparePositions(record, position) === 0 && goesOn;
  if (since.isInside) assert(isInOrder, 'a-kinesis-record-is-folded-whole');
  else assert(begins, 'records-are-folded-in-order');
  assert(subSequence <= lastSubSequence, 'a-kinesis-record-is-folded-whole');
  since.isInside = subSequence < lastSubSequence;
  since.lastSubSequence = lastSubSequence;
}

function ledgerOf(since: Uncommitted): ViewTable {
  return since.late.at(-1) as ViewTable;
}
