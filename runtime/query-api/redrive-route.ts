/**
 * `POST /v1/quarantine/redrive` on the port: the query function reads the quarantine, the slices' owners are ticked in turn.
 */

import { RECORD_CHOICE_EXAMPLE } from '../../core/query/quarantine-body.ts';
import type { Asked } from '../../core/query/query-problem.ts';
import type { AskedRedrive, RedriveSummary } from '../../core/query/redrive.ts';
import { parseJsonBody } from '../../functions/admin/json-body.ts';
import { answerRedrive, type RedriveOptions } from '../../functions/admin/redrive-answer.ts';
import { resultOf } from '../../functions/function-url.ts';
import { InvocationError } from '../environment-pool.ts';
import type { PortRequest, PortResponse, Route } from '../http/route.ts';
import type { RedrivePayload } from '../query-environment.ts';
import { noAnswer, responseOf } from './query-routes.ts';

export interface RedriveRouteOptions
  extends Pick<RedriveOptions, 'tick' | 'waitMsMax' | 'waitStepMs'> {
  /** The active pipeline's. */
  readonly zone: () => string;
  /** Asks the query function. */
  readonly invoke: (payload: RedrivePayload) => Promise<unknown>;
}

/** Room for `REDRIVE_IDS_MAX` ids. */
export const BODY_BYTES_MAX = 2 * 1024 * 1024;

export function redriveRoute(options: RedriveRouteOptions): Route {
  return {
    method: 'POST',
    path: '/v1/quarantine/redrive',
    bodyBytesMax: BODY_BYTES_MAX,
    handle: (request) => answer(request, options),
  };
}

async function answer(
  { body, query, signal }: PortRequest,
  { invoke, zone, ...options }: RedriveRouteOptions,
): Promise<PortResponse> {
  const json = parseJsonBody(body.toString('utf8'), query, RECORD_CHOICE_EXAMPLE);
  if (!json.ok) return responseOf(resultOf(json));
  try {
    const result = await answerRedrive(json.value, {
      ...options,
      zone: zone(),
      ask: async (choice) => (await invoke({ redrive: 'ask', choice })) as Asked<AskedRedrive>,
      outcome: async (asked) => (await invoke({ redrive: 'outcome', asked })) as RedriveSummary,
      isGone: () => signal.aborted,
    });
    return { ...responseOf(result), tellsEffect: true };
  } catch (error) {
    if (error instanceof InvocationError) return noAnswer(error);
    throw error;
  }
}
