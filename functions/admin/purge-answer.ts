/**
 * `POST /v1/quarantine/purge`: bytes of quarantined records are deleted for good.
 *
 *   200 {purged, unknown, refused}         `next` is there where more is selected than one call takes: the same body with it goes on
 */
import type { PurgeSummary } from '../../core/query/purge.ts';
import { parseRecordChoice, type RecordChoice } from '../../core/query/quarantine-body.ts';
import type { Asked } from '../../core/query/query-problem.ts';
import { resultOf, type UrlResult } from '../function-url.ts';

export async function answerPurge(
  body: unknown,
  zone: string,
  purge: (choice: RecordChoice) => Promise<Asked<PurgeSummary>>,
): Promise<UrlResult> {
  // Judged before it crosses to another thread, which not everything can.
  const choice = parseRecordChoice(body, zone);
  return resultOf(choice.ok ? await purge(choice.value) : choice);
}
