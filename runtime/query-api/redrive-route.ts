/**
 * `POST /v1/quarantine/redrive`: quarantined records come back. The requests are durable once they are asked for; the
 * slices' owners are ticked until they have done them.
 *
 *   200 {redriven, refused, pending: []}     all is decided
 *   202 {redriven, refused, pending}         the owners of `pending` could not come to it in time, and still will
 */
import type { Asked, QueryProblem } from '../../core/query/query-problem.ts';
import { type AskedRedrive, parseRedrive, type RedriveSummary } from '../../core/query/redrive.ts';
import { InvocationError } from '../environment-pool.ts';
import { problem } from '../http/problem.ts';
import { json, type PortRequest, type PortResponse, type Route } from '../http/route.ts';
import type { RedrivePayload } from '../query-environment.ts';
import { readJsonBody } from './json-body.ts';
import { noAnswer } from './query-routes.ts';

export interface RedriveRouteOptions {
  /** Asks the query function. */
  readonly invoke: (payload: RedrivePayload) => Promise<unknown>;
  /** Has the owner of a slice look into its inbox. */
  readonly tick: (sliceId: string) => Promise<void>;
  /** How long a request waits for the owners, and between two looks. */
  readonly waitMsMax?: number;
  readonly waitStepMs?: number;
}

const WAIT_MS_MAX = 10_000;
const WAIT_STEP_MS = 50;
/** Room for `REDRIVE_IDS_MAX` ids. */
const BODY_BYTES_MAX = 2 * 1024 * 1024;
const EXAMPLE = '{"ids": ["…"]} or {"reason": "wrong-type"}';

export function redriveRoute(options: RedriveRouteOptions): Route {
  return {
    method: 'POST',
    path: '/v1/quarantine/redrive',
    bodyBytesMax: BODY_BYTES_MAX,
    handle: (request) => answer(request, options),
  };
}

async function answer(request: PortRequest, options: RedriveRouteOptions): Promise<PortResponse> {
  const body = readJsonBody(request, EXAMPLE);
  if (!body.ok) return body.response;
  try {
    // Judged before it crosses to another thread, which not everything can.
    const selection = parseRedrive(body.value);
    if (!selection.ok) return refusal(selection.problem);
    const payload: RedrivePayload = { redrive: 'ask', selection: selection.value };
    const asked = (await options.invoke(payload)) as Asked<AskedRedrive>;
    if (!asked.ok) return refusal(asked.problem);
    const summary = await outcomeOf(asked.value, request.signal, options);
    return json(summary, summary.pending.length === 0 ? 200 : 202);
  } catch (error) {
    if (error instanceof InvocationError) return noAnswer(error);
    throw error;
  }
}

function refusal({ status, code, detail, title: _, ...extras }: QueryProblem): PortResponse {
  return problem(status, code, detail, extras);
}

async function outcomeOf(
  asked: AskedRedrive,
  signal: AbortSignal,
  options: RedriveRouteOptions,
): Promise<RedriveSummary> {
  const { invoke, tick, waitMsMax = WAIT_MS_MAX, waitStepMs = WAIT_STEP_MS } = options;
  const sliceIds = [...new Set(asked.requests.map(({ sliceId }) => sliceId))];
  const endMs = performance.now() + waitMsMax;
  for (;;) {
    const leftMs = endMs - performance.now();
    await withinTime(Promise.allSettled(sliceIds.map(tick)), leftMs);
    const summary = (await invoke({ redrive: 'outcome', asked })) as RedriveSummary;
    const isOver = signal.aborted || performance.now() >= endMs;
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
