/**
 * What `tidemark put` says at its end: what it put, and the commands to run next, as a shell takes them.
 */

import { countText } from './count-text.ts';
import { DEFAULT_URL } from './option-values.ts';
import { NO_KEY } from './partition-key.ts';
import { type RefusedRecords, refusalLine } from './refused-records.ts';
import { shellWord } from './shell-word.ts';

export interface PutReport {
  readonly put: number;
  readonly stream: string;
  readonly keyField: string;
  readonly withoutKey: number;
  /** The newest record of each shard, as `--after` takes them. */
  readonly after: readonly string[];
  /** To ask for; null if the pipeline is not known. */
  readonly view: string | null;
  /** Null if the records are not judged here, since the pipeline is not known. */
  readonly refused: readonly RefusedRecords[] | null;
  /** As `queryPlaceText` says it. */
  readonly place: string;
}

export function putReportLines(report: PutReport): string[] {
  const { put, stream, keyField, withoutKey, after, view, refused, place } = report;
  const lines = [`put ${countText(put, 'record')} into ${stream}`];
  if (withoutKey > 0) {
    lines.push(
      `${withoutKey} had no readable '${keyField}' and went under the partition key '${NO_KEY}'`,
    );
  }
  if (after.length === 0) return lines;
  const waits = after.map((each) => ` --after ${each}`).join('');
  lines.push(`wait for them with: npx tidemark query ${view ?? 'VIEW'}${waits}${place}`);
  const bad = (refused ?? []).reduce((sum, { records }) => sum + records, 0);
  if (bad > 0) {
    lines.push(
      `${bad.toLocaleString('en-US')} of them cannot be counted, and go to the quarantine: npx tidemark quarantine${place}`,
      ...(refused ?? []).map((each) => `  ${refusalLine(each)}`),
    );
  }
  return lines;
}

/**
 * What a command needs to find the query API of the pipeline that was put into, whose Kinesis API is at `endpoint` (null: in
 * AWS). Commands read `TIDEMARK_QUERY_URL` themselves.
 */
export function queryPlaceText(
  endpoint: string | null,
  fromEnvironment: string | undefined,
): string {
  if (endpoint === null) return fromEnvironment === undefined ? ' --query-url URL' : '';
  return endpoint === (fromEnvironment ?? DEFAULT_URL) ? '' : ` --query-url ${shellWord(endpoint)}`;
}
