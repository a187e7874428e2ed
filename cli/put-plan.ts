/**
 * The pipeline that `put` reads CSV by and takes the stream's name from: the file that is named, otherwise the pipeline that
 * `tidemark dev` runs where the records go, otherwise the default file.
 */
import { setTimeout } from 'node:timers/promises';
import { parsePlan } from '../core/definition/parse-plan.ts';
import type { Plan } from '../core/definition/plan.ts';
import { fetchDirect } from './direct-fetch.ts';
import { loadPipelineFile, PipelineFileError } from './pipeline-file.ts';
import { isLoopback } from './query-place.ts';

export interface PutPlace {
  /** A file; `isFileNamed` if the caller named it. */
  readonly pipeline: string;
  readonly isFileNamed: boolean;
  readonly stream: string | undefined;
  /** Where the records go; null: to AWS. */
  readonly endpoint: string | null;
}

/** A `dev` that has just begun, or that has much to do, takes a moment. */
const ANSWER_MS_MAX = 15_000;
const RETRY_MS = 250;

/**
 * Null if the pipeline of the stream is not known: the stream's name alone does to put. Throws `PipelineFileError` where
 * neither is known, or the named file does not do.
 */
export async function planForPut(
  place: PutPlace,
  answerMsMax = ANSWER_MS_MAX,
): Promise<Plan | null> {
  const { pipeline, isFileNamed, stream, endpoint } = place;
  const isMeant = (plan: Plan) => stream === undefined || plan.stream === stream;
  const running =
    isFileNamed || endpoint === null ? null : await runningPlan(endpoint, answerMsMax);
  if (running !== null && isMeant(running)) return running;
  try {
    const plan = await loadPipelineFile(pipeline);
    return isMeant(plan) ? plan : null;
  } catch (error) {
    if (isFileNamed || !(error instanceof PipelineFileError)) throw error;
    if (stream !== undefined) return null;
    const nor = endpoint === null ? '' : `no \`tidemark dev\` answers at ${endpoint} either; `;
    throw new PipelineFileError(
      `${error.message}\n  ${nor}name the pipeline file with --pipeline, or the stream with --stream`,
      { problems: error.problems, cause: error },
    );
  }
}

/**
 * What `tidemark dev` runs at an address; null where nothing or something else answers. Throws `PipelineFileError` where
 * there is something that does not answer in time: without its pipeline the numbers of a CSV file would go as text.
 */
async function runningPlan(endpoint: string, answerMsMax: number): Promise<Plan | null> {
  const url = `${endpoint}/v1/pipeline`;
  const ask = isLoopback(new URL(url)) ? fetchDirect : fetch;
  const signal = AbortSignal.timeout(answerMsMax);
  while (!signal.aborted) {
    const response = await ask(url, { method: 'GET', headers: {}, body: null, signal }).catch(
      () => null,
    );
    // The records go there next: what is wrong with the address is said then.
    if (response === null && !signal.aborted) return null;
    if (response?.ok) {
      const answer = await response.json().catch(() => null);
      if (!signal.aborted) return planIn(answer);
    } else if (response !== null && response.status < 500) return null;
    await setTimeout(RETRY_MS);
  }
  throw new PipelineFileError(
    `what runs at ${endpoint} did not say within ${answerMsMax / 1000} s which pipeline it has\n` +
      '  run the command again when it answers, or name the pipeline file with --pipeline',
  );
}

function planIn(answer: unknown): Plan | null {
  const parsed = parsePlan((answer as { pipeline?: unknown } | null)?.pipeline);
  return parsed.ok ? parsed.plan : null;
}
