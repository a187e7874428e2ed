/**
 * The first records of a file, judged by a plan: which of them could not be counted if they arrived now, and which paths find
 * nothing. What the order of arrival decides (late, known already) is for `simulate`.
 */
import { type PathHint, PathSample, SAMPLE_RECORDS } from '../core/decode/path-sample.ts';
import type { Plan } from '../core/definition/plan.ts';
import { shown } from './records/byte-source.ts';
import { type RecordReading, recordsOf } from './records/record-file.ts';
import { RefusalTally, type RefusedRecords } from './refused-records.ts';

export interface RecordTrial {
  readonly file: string;
  /** That were looked at. */
  readonly records: number;
  readonly isSound: boolean;
  /** By reason of the quarantine. */
  readonly refused: readonly RefusedRecords[];
  readonly hints: readonly PathHint[];
}

/** As if the records arrived at `nowMs`. A file without records is not sound: it shows nothing. */
export async function recordTrial(
  plan: Plan,
  path: string,
  reading: RecordReading,
  nowMs: number,
): Promise<RecordTrial> {
  const tally = new RefusalTally(plan);
  const sample = new PathSample(plan);
  let records = 0;
  for await (const record of recordsOf(path, reading)) {
    if (records === SAMPLE_RECORDS) break;
    records++;
    sample.add(record.data);
    tally.add(record, nowMs);
  }
  const { refused } = tally;
  const hints = sample.hints({ withoutOther: true });
  const isSound = records > 0 && refused.length === 0 && hints.every(({ found }) => found === null);
  return { file: shown(path), records, isSound, refused, hints };
}
