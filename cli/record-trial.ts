/**
 * The first records of a file, judged by a plan: which of them could not be counted if they arrived now, and which paths find
 * nothing. What the order of arrival decides (late, known already) is for `simulate`.
 */
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import { type PathHint, PathSample, SAMPLE_RECORDS } from '../core/decode/path-sample.ts';
import type { Plan } from '../core/definition/plan.ts';
import { RecordCheck } from '../core/state/record-check.ts';
import { shown } from './records/byte-source.ts';
import type { PlaceUnit } from './records/file-record.ts';
import { type RecordReading, recordsOf } from './records/record-file.ts';

export interface RecordTrial {
  readonly file: string;
  /** That were looked at. */
  readonly records: number;
  readonly isSound: boolean;
  /** By reason of the quarantine; the place and the detail are those of the first such record. */
  readonly refused: readonly RefusedRecords[];
  readonly hints: readonly PathHint[];
}

export interface RefusedRecords {
  readonly reason: string;
  readonly records: number;
  readonly unit: PlaceUnit;
  readonly number: number;
  readonly detail: string;
}

/** As if the records arrived at `nowMs`. A file without records is not sound: it shows nothing. */
export async function recordTrial(
  plan: Plan,
  path: string,
  reading: RecordReading,
  nowMs: number,
): Promise<RecordTrial> {
  const check = new RecordCheck(plan, createJsonDecoder(plan));
  const sample = new PathSample(plan);
  const refused = new Map<string, RefusedRecords>();
  let records = 0;
  for await (const { data, unit, number } of recordsOf(path, reading)) {
    if (records === SAMPLE_RECORDS) break;
    records++;
    sample.add(data);
    const bad = check.judge({ data, arrivalMs: nowMs });
    if (bad === null) continue;
    const { reason, detail } = bad;
    const known = refused.get(reason) ?? { reason, records: 0, unit, number, detail };
    refused.set(reason, { ...known, records: known.records + 1 });
  }
  const hints = sample.hints({ withoutOther: true });
  const isSound = records > 0 && refused.size === 0 && hints.every(({ found }) => found === null);
  return { file: shown(path), records, isSound, refused: [...refused.values()], hints };
}
