/**
 * The pipeline that `put` reads CSV by and takes the stream's name from: the file that is named, otherwise the pipeline that
 * `tidemark dev` runs where the records go, otherwise the default file.
 */
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

const ANSWER_MS_MAX = 2_000;

/**
 * Null if the pipeline of the stream is not known: the stream's name alone does to put. Throws `PipelineFileError` where
 * neither is known, or the named file does not do.
 */
export async function planForPut(place: PutPlace): Promise<Plan | null> {
  const { pipeline, isFileNamed, stream, endpoint } = place;
  const isMeant = (plan: Plan) => stream === undefined || plan.stream === stream;
  const running = isFileNamed || endpoint === null ? null : await runningPlan(endpoint);
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

/** What `tidemark dev` runs at an address; null where something else answers, or nothing in time. */
async function runningPlan(endpoint: string): Promise<Plan | null> {
  const url = `${endpoint}/v1/pipeline`;
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const request = { method: 'GET', headers: {}, body: null, signal };
  try {
    const response = await (isLoopback(new URL(url)) ? fetchDirect : fetch)(url, request);
    if (!response.ok) return null;
    const parsed = parsePlan(((await response.json()) as { pipeline?: unknown }).pipeline);
    return parsed.ok ? parsed.plan : null;
  } catch {
    // The records go there next: what is wrong with the address is said then.
    return null;
  }
}
