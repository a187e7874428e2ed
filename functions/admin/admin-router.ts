/**
 * Which of the admin calls a request is, and its answer. What the aggregate function throws is told of, not hidden.
 */
import type { QueryParameters } from '../../core/query/parameter-values.ts';
import type { PurgeSummary } from '../../core/query/purge.ts';
import { RECORD_CHOICE_EXAMPLE, type RecordChoice } from '../../core/query/quarantine-body.ts';
import type { Asked, QueryProblem } from '../../core/query/query-problem.ts';
import { METRIC } from '../deployment-contract.ts';
import {
  bodyText,
  problemOfError,
  problemResult,
  resultOf,
  type UrlEvent,
  type UrlResult,
} from '../function-url.ts';
import type { Telemetry } from '../telemetry.ts';
import { answerCheckpoint, type CheckpointedSlice } from './checkpoint-answer.ts';
import { parseJsonBody } from './json-body.ts';
import { answerPurge } from './purge-answer.ts';
import { answerRedrive, type RedriveOptions } from './redrive-answer.ts';

export interface AdminPorts extends RedriveOptions {
  readonly checkpoint: () => Promise<CheckpointedSlice[]>;
  /** Whole, with what producers sent. */
  readonly quarantine: (parameters: QueryParameters) => Promise<Asked<unknown>>;
  readonly purge: (choice: RecordChoice) => Promise<Asked<PurgeSummary>>;
  readonly telemetry: Telemetry;
}

/** Of what was asked: enough for a reason or a few ids. */
const LOGGED_LENGTH_MAX = 300;
const CHECKPOINT = '/v1/checkpoint';
const REDRIVE = '/v1/quarantine/redrive';
const PURGE = '/v1/quarantine/purge';
const QUARANTINE = '/v1/quarantine';
const METHODS: Readonly<Record<string, 'GET' | 'POST'>> = {
  [CHECKPOINT]: 'POST',
  [REDRIVE]: 'POST',
  [PURGE]: 'POST',
  [QUARANTINE]: 'GET',
};

/** Logs each call with who made it, and what it was answered. */
export async function answerAdmin(event: UrlEvent, ports: AdminPorts): Promise<UrlResult> {
  const caller = event.requestContext.authorizer?.iam?.userArn ?? 'unknown';
  const call = callOf(event);
  ports.telemetry.info(`${call} begins`, {
    caller,
    body: bodyText(event).slice(0, LOGGED_LENGTH_MAX),
  });
  const result = await answer(event, ports);
  ports.telemetry.info(call, { caller, status: result.statusCode });
  return result;
}

async function answer(event: UrlEvent, ports: AdminPorts): Promise<UrlResult> {
  const refusal = refuse(event);
  if (refusal !== null) return problemResult(refusal);
  try {
    return event.rawPath === QUARANTINE ? await list(event, ports) : await post(event, ports);
  } catch (error) {
    ports.telemetry.count(METRIC.otherFaults, 1);
    ports.telemetry.failure(`${callOf(event)} failed`, error, {});
    return problemResult(problemOfError(error));
  }
}

async function list({ rawQueryString }: UrlEvent, ports: AdminPorts): Promise<UrlResult> {
  return resultOf(await ports.quarantine([...new URLSearchParams(rawQueryString)]));
}

async function post(event: UrlEvent, ports: AdminPorts): Promise<UrlResult> {
  const parameters = new URLSearchParams(event.rawQueryString);
  const example = event.rawPath === CHECKPOINT ? '{}' : RECORD_CHOICE_EXAMPLE;
  const json = parseJsonBody(bodyText(event), parameters, example);
  if (!json.ok) return problemResult(json.problem);
  if (event.rawPath === REDRIVE) return answerRedrive(json.value, ports);
  if (event.rawPath === PURGE) return answerPurge(json.value, ports.zone, ports.purge);
  return answerCheckpoint(json.value, ports.checkpoint);
}

function callOf({ rawPath, requestContext }: UrlEvent): string {
  return `${requestContext.http.method} ${rawPath}`;
}

function refuse({ rawPath, headers = {}, requestContext }: UrlEvent): QueryProblem | null {
  const { method } = requestContext.http;
  const expected = METHODS[rawPath];
  if (expected === undefined) {
    const detail = `There is nothing at ${rawPath}; there is ${Object.keys(METHODS).join(', ')}. Other questions go to the query URL.`;
    return { status: 404, title: 'Not Found', code: 'no-such-path', detail };
  }
  if (method !== expected) {
    const detail = `${rawPath} takes ${expected}, not ${method}.`;
    return { status: 405, title: 'Method Not Allowed', code: 'method-not-allowed', detail };
  }
  if (expected === 'GET') return null;
  const type = headers['content-type'] ?? '';
  if (/^application\/json\s*(?:$|;)/i.test(type)) return null;
  const detail = `${rawPath} needs 'content-type: application/json', not '${type}'.`;
  return { status: 400, title: 'Bad Request', code: 'content-type', detail };
}
