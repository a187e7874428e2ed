/**
 * Which of the admin calls a request is, and its answer. What the aggregate function throws is told of, not hidden.
 */
import type { QueryProblem } from '../../core/query/query-problem.ts';
import { METRIC } from '../deployment-contract.ts';
import {
  bodyText,
  problemOfError,
  problemResult,
  type UrlEvent,
  type UrlResult,
} from '../function-url.ts';
import type { Telemetry } from '../telemetry.ts';
import { answerCheckpoint, type CheckpointedSlice } from './checkpoint-answer.ts';
import { parseJsonBody } from './json-body.ts';
import { answerRedrive, REDRIVE_EXAMPLE, type RedriveOptions } from './redrive-answer.ts';

export interface AdminPorts extends RedriveOptions {
  readonly checkpoint: () => Promise<CheckpointedSlice[]>;
  readonly telemetry: Telemetry;
}

const CHECKPOINT = '/v1/checkpoint';
const REDRIVE = '/v1/quarantine/redrive';

export async function answerAdmin(event: UrlEvent, ports: AdminPorts): Promise<UrlResult> {
  const refusal = refuse(event);
  if (refusal !== null) return problemResult(refusal);
  const isRedrive = event.rawPath === REDRIVE;
  const parameters = new URLSearchParams(event.rawQueryString);
  const example = isRedrive ? REDRIVE_EXAMPLE : '{}';
  const json = parseJsonBody(bodyText(event), parameters, example);
  if (!json.ok) return problemResult(json.problem);
  try {
    if (isRedrive) return await answerRedrive(json.value, ports);
    return await answerCheckpoint(json.value, ports.checkpoint);
  } catch (error) {
    ports.telemetry.count(METRIC.otherFaults, 1);
    ports.telemetry.failure(`POST ${event.rawPath} failed`, error, {});
    return problemResult(problemOfError(error));
  }
}

function refuse({ rawPath, headers = {}, requestContext }: UrlEvent): QueryProblem | null {
  const { method } = requestContext.http;
  if (rawPath !== CHECKPOINT && rawPath !== REDRIVE) {
    const detail = `There is nothing at ${rawPath}; there is ${CHECKPOINT} and ${REDRIVE}. Questions go to the query URL.`;
    return { status: 404, title: 'Not Found', code: 'no-such-path', detail };
  }
  if (method !== 'POST') {
    const detail = `${rawPath} takes POST, not ${method}.`;
    return { status: 405, title: 'Method Not Allowed', code: 'method-not-allowed', detail };
  }
  const type = headers['content-type'] ?? '';
  if (/^application\/json\s*(?:$|;)/i.test(type)) return null;
  const detail = `${rawPath} needs 'content-type: application/json', not '${type}'.`;
  return { status: 400, title: 'Bad Request', code: 'content-type', detail };
}
