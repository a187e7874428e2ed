/**
 * Whether a record can be counted at all, judged by itself: its size, what it holds, its time, its group keys. The fold asks
 * it of every record, and `tidemark check` of the records of a file. That a record is late or known is for the fold.
 */
import type { BadRecord, RecordDecoder, RecordFields } from '../decode/record-decoder.ts';
import { formatDuration } from '../definition/duration.ts';
import type { Plan, ViewPlan } from '../definition/plan.ts';
import { FOLDED_RECORD_BYTES_MAX, GROUP_KEY_BYTES_MAX } from '../limits.ts';
import type { StreamRecord } from '../ports.ts';
import { likelyUnitHint, unitName } from '../time/likely-unit.ts';
import { Zone } from '../time/zone.ts';
import { zonedText } from '../time/zoned-time.ts';
import { encodeGroupKey, groupValuesOf } from './group-key.ts';

/** A value's bytes in a group key are at most this many times its bytes in a record. */
const KEY_GROWTH_MAX = 10;

export class RecordCheck {
  readonly fields: RecordFields = {
    timeMs: null,
    isTimeNumber: false,
    category: null,
    dedupeId: null,
    values: [],
  };
  readonly #plan: Plan;
  readonly #decoder: RecordDecoder;
  readonly #zone: Zone;

  constructor(plan: Plan, decoder: RecordDecoder) {
    this.#plan = plan;
    this.#decoder = decoder;
    this.#zone = new Zone(plan.zone);
  }

  /** Why the record cannot be counted, whatever came before it; null if it can. `fields` are those of this record then. */
  judge(record: Pick<StreamRecord, 'data' | 'arrivalMs'>): BadRecord | null {
    const byteLength = record.data.length;
    if (byteLength > FOLDED_RECORD_BYTES_MAX) {
      const detail = `${byteLength} bytes, at most ${FOLDED_RECORD_BYTES_MAX} are folded`;
      return { reason: 'record-too-large', detail };
    }
    const bad = this.#decoder.decode(record.data, this.fields);
    if (bad !== null) return bad;
    const unlikely = this.#unlikelyTime(record.arrivalMs);
    if (unlikely !== null) return unlikely;
    // No key can be too large in a record that is small itself.
    if (byteLength * KEY_GROWTH_MAX <= GROUP_KEY_BYTES_MAX) return null;
    return this.#oversizedKey();
  }

  #unlikelyTime(arrivalMs: number): BadRecord | null {
    const { skewMs, earliestMs } = this.#plan;
    const { timeMs } = this.fields;
    if (timeMs === null) return null;
    if (skewMs !== null && timeMs > arrivalMs + skewMs) {
      const ahead = `${this.#timeText(timeMs)}, ${formatDuration(timeMs - arrivalMs)} after its arrival`;
      const detail = `${ahead}; at most ${formatDuration(skewMs)} (time.skew) is allowed${this.#unitHint(timeMs)}`;
      return { reason: 'too-far-in-the-future', detail };
    }
    if (earliestMs !== null && timeMs < earliestMs) {
      const early = `${this.#timeText(timeMs)}, before ${zonedText(earliestMs, this.#zone)} (time.earliest)`;
      return { reason: 'too-far-in-the-past', detail: `${early}${this.#unitHint(timeMs)}` };
    }
    return null;
  }

  #timeText(timeMs: number): string {
    const { time } = this.#plan;
    const text = zonedText(timeMs, this.#zone);
    if (time === null || !this.fields.isTimeNumber) return `event time is ${text}`;
    const { unitMs } = time;
    return `event time ${timeMs / unitMs} read as ${unitName(unitMs)} is ${text}`;
  }

  #unitHint(timeMs: number): string {
    const { time } = this.#plan;
    if (time === null || !this.fields.isTimeNumber) return '';
    return likelyUnitHint(timeMs / time.unitMs, time.unitMs, this.#zone);
  }

  #oversizedKey(): BadRecord | null {
    for (const view of this.#plan.views) {
      if (!selects(view, this.fields)) continue;
      const byteLength = encodeGroupKey(groupValuesOf(view.groupBy, this.fields.values)).length;
      if (byteLength <= GROUP_KEY_BYTES_MAX) continue;
      const detail = `the group key of view '${view.name}' has ${byteLength} bytes, at most ${GROUP_KEY_BYTES_MAX} are kept`;
      return { reason: 'group-key-too-large', detail };
    }
    return null;
  }
}

/** True if the view takes records of this one's category. */
export function selects(view: ViewPlan, { category }: RecordFields): boolean {
  return view.category === null || view.category === category;
}
