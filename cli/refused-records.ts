/**
 * Records of a file that the pipeline cannot count, by the core's own rules, as if they arrived when they are judged.
 */
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import type { Plan } from '../core/definition/plan.ts';
import { isHeartbeat } from '../core/state/heartbeat.ts';
import { RecordCheck } from '../core/state/record-check.ts';
import type { FileRecord, PlaceUnit } from './records/file-record.ts';

/** Those of one reason of the quarantine; the place and the detail are those of the first. */
export interface RefusedRecords {
  readonly reason: string;
  readonly records: number;
  readonly unit: PlaceUnit;
  readonly number: number;
  readonly detail: string;
}

export class RefusalTally {
  readonly #check: RecordCheck;
  readonly #refused = new Map<string, RefusedRecords>();

  constructor(plan: Plan) {
    this.#check = new RecordCheck(plan, createJsonDecoder(plan));
  }

  add({ data, unit, number }: FileRecord, arrivalMs: number): void {
    const bad = isHeartbeat(data) ? null : this.#check.judge({ data, arrivalMs });
    if (bad === null) return;
    const { reason, detail } = bad;
    const known = this.#refused.get(reason) ?? { reason, records: 0, unit, number, detail };
    this.#refused.set(reason, { ...known, records: known.records + 1 });
  }

  get refused(): RefusedRecords[] {
    return [...this.#refused.values()];
  }
}

/** `not-json: 2, the first on line 7: …` */
export function refusalLine({ reason, records, unit, number, detail }: RefusedRecords): string {
  return `${reason}: ${records}, the first on ${unit} ${number}: ${detail}`;
}
