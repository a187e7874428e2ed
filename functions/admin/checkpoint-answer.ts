/**
 * `POST /v1/checkpoint`: a base of every slice, now.
 */
import { shownJson } from '../../core/query/quarantine-body.ts';
import { type Asked, asked, refuse } from '../../core/query/query-problem.ts';
import { resultOf, type UrlResult } from '../function-url.ts';

export interface CheckpointedSlice {
  readonly id: string;
  readonly shardId: string;
  readonly epoch: number;
}

/** `checkpoint` has the owner of every slice complete an epoch with a base. */
export async function answerCheckpoint(
  body: unknown,
  checkpoint: () => Promise<CheckpointedSlice[]>,
): Promise<UrlResult> {
  const checked = checkBody(body);
  if (!checked.ok) return resultOf(checked);
  return resultOf({ ok: true, value: { slices: await checkpoint() } });
}

function checkBody(body: unknown): Asked<null> {
  return asked(() => {
    if (isEmptyObject(body)) return null;
    // There is nothing to choose yet, and what is not known is not ignored.
    const found = shownJson(body).slice(0, 40);
    const where = { path: 'body', expected: '{}', found };
    return refuse('unknown-member', 'The body has to be an empty object.', where);
  });
}

function isEmptyObject(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).length === 0
  );
}
