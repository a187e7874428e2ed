/**
 * `POST /v1/quarantine/redrive`: quarantined records come back. The requests are durable once they are asked for; the
 * slices' owners are ticked until they have done them.
 *
 *   200 {redriven, refused, pending: []}     all is decided
 *   202 {redriven, refused, pending}         the owners of `pending` could not come to it in time, and still will
 *
 * `next` is there where more is selected than one call takes: the same body with it goes on.
 */

import { parseRecordChoice, type RecordChoice } from '../../core/query/quarantine-body.ts';
import type { Asked } from '../../core/query/query-problem.ts';
import type { AskedRedrive, RedriveSummary } from '../../core/query/redrive.ts';
import { resultOf, type UrlResult } from '../function-url.ts';

export interface RedriveOptions {
  /** The pipeline's: times without offset are in it. */
  readonly zone: string;
  /** Puts the requests into inboxes. */
  readonly ask: (choice: RecordChoice) => Promise<Asked<AskedRedrive>>;
  readonly outcome: (asked: AskedRedrive) => Promise<RedriveSummary>;
  /** Has the owner of a slice look into its inbox; resolves when it has, or could not. */
  readonly tick: (sliceId: string) => Promise<void>;
  /** How long a request waits for the owners, and between two looks. */
  readonly waitMsMax?: number;
  readonly waitStepMs?: number;
  /** No caller waits for the answer any more. */
  readonly isGone?: () => boolean;
}

const WAIT_MS_MAX = 10_000;
const WAIT_STEP_MS = 50;

export async function answerRedrive(body: unknown, options: RedriveOptions): Promise<UrlResult> {
  // Judged before it crosses to another thread, which not everything can.
  const choice = parseRecordChoice(body, options.zone);
  if (!choice.ok) return resultOf(choice);
  const asked = await options.ask(choice.value);
  if (!asked.ok) return resultOf(asked);
  const value = await summaryOf(asked.value, options);
  return resultOf({ ok: true, value }, value.pending.length === 0 ? 200 : 202);
}

async function summaryOf(asked: AskedRedrive, options: RedriveOptions): Promise<RedriveSummary> {
  const { waitMsMax = WAIT_MS_MAX, waitStepMs = WAIT_STEP_MS, isGone = () => false } = options;
  const sliceIds = [...new Set(asked.requests.map(({ sliceId }) => sliceId))];
  const endMs = performance.now() + waitMsMax;
  for (;;) {
    const leftMs = endMs - performance.now();
    await withinTime(Promise.allSettled(sliceIds.map(options.tick)), leftMs);
    const summary = await options.outcome(asked);
    const isOver = isGone() || performance.now() >= endMs;
    if (summary.pending.length === 0 || isOver) return summary;
    await new Promise((resolve) => setTimeout(resolve, waitStepMs));
  }
}

/** A tick waits for its turn, which may be long in coming. */
async function withinTime(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms));
  });
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}
