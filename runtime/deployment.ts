/**
 * The environments that carry one plan: some that aggregate, one that answers queries about few entries, and one for
 * queries that go through many, so that no scan stands in the way of a point query. A pipeline whose plan changes has two
 * deployments for a moment.
 */
import type { Plan } from '../core/definition/plan.ts';
import { planToJson } from '../core/definition/plan-json.ts';
import { pipelineAnswer } from '../core/query/queries.ts';
import { resultOf } from '../functions/function-url.ts';
import type { QueryEvent } from '../functions/query/handler.ts';
import type { EnvironmentData } from './aggregate-environment.ts';
import { EnvironmentPool } from './environment-pool.ts';
import type { PurgePayload, RedrivePayload } from './query-environment.ts';
import { threadEntry } from './thread-entry.ts';

const PIPELINE_PATH = '/v1/pipeline';
const POINT_PATHS = ['/v1/views', PIPELINE_PATH, '/v1/status'];

export interface DeploymentOptions {
  readonly dataFolder: string;
  readonly region: string;
  readonly environmentCount: number;
  readonly environmentMemoryMib: number;
  readonly invocationTimeoutMs: number;
}

const QUERY_MEMORY_MIB = 256;
/** Queries that wait at most, and for how long: less than what clients usually have patience for. */
const QUERIES_WAITING_MAX = 512;
const QUERY_WAIT_MS_MAX = 3_000;
export const QUERY_TIMEOUT_MS = 60_000;

export class Deployment {
  readonly plan: Plan;
  readonly aggregates: EnvironmentPool;
  readonly #points: EnvironmentPool;
  readonly #scans: EnvironmentPool;

  constructor(plan: Plan, options: DeploymentOptions) {
    const { dataFolder, region } = options;
    // The rest is for a batch, for a base on its way, and for Node.
    const sliceBytesMax = options.environmentMemoryMib * 2 ** 19;
    const workerData: EnvironmentData = {
      pipeline: planToJson(plan),
      dataFolder,
      region,
      sliceBytesMax,
    };
    this.plan = plan;
    this.aggregates = new EnvironmentPool({
      name: 'aggregate',
      count: options.environmentCount,
      entry: threadEntry('aggregate-environment'),
      workerData,
      memoryMib: options.environmentMemoryMib,
      memoryHint: 'start with a larger --environment-memory, or with more shards for a new stream',
      timeoutMs: options.invocationTimeoutMs,
      // The mapping and the ticker bring one invocation a shard at a time.
      waitingMax: Number.POSITIVE_INFINITY,
      waitMsMax: Number.POSITIVE_INFINITY,
    });
    const queries = (name: string) =>
      new EnvironmentPool({
        name,
        count: 1,
        entry: threadEntry('query-environment'),
        workerData,
        memoryMib: QUERY_MEMORY_MIB,
        memoryHint: 'ask for less at once: by key, prefix, start and end, or without order',
        timeoutMs: QUERY_TIMEOUT_MS,
        waitingMax: QUERIES_WAITING_MAX,
        waitMsMax: QUERY_WAIT_MS_MAX,
      });
    this.#points = queries('query');
    this.#scans = queries('scan');
  }

  /** Asks the query function; the promise rejects with `InvocationError`. `signal` aborts when the caller has gone. */
  query(
    request: QueryEvent | RedrivePayload | PurgePayload,
    signal?: AbortSignal,
  ): Promise<unknown> {
    // `put` asks it first, and must not guess because others ask much.
    if (
      'rawPath' in request &&
      request.rawPath === PIPELINE_PATH &&
      request.rawQueryString === ''
    ) {
      return Promise.resolve(resultOf({ ok: true, value: pipelineAnswer(this.plan) }));
    }
    const pool = isScan(this.plan, request) ? this.#scans : this.#points;
    return pool.invoke(request, signal);
  }

  /** Starts the threads before the first invocation needs them. */
  warm(): void {
    this.aggregates.warm();
    this.#points.warm();
  }

  /** Lets running invocations finish; those that wait go to the successor, or end. */
  async close(successor: Deployment | null = null): Promise<void> {
    await Promise.all([
      this.aggregates.close(successor?.aggregates),
      this.#points.close(successor === null ? undefined : successor.#points),
      this.#scans.close(successor === null ? undefined : successor.#scans),
    ]);
  }
}

/** False for what goes through few entries only. The thread for scans starts when the first is asked. */
function isScan(plan: Plan, request: QueryEvent | RedrivePayload | PurgePayload): boolean {
  if ('redrive' in request || 'purge' in request) return true;
  if (POINT_PATHS.includes(request.rawPath)) return false;
  const view = plan.views.find(({ name }) => request.rawPath === `/v1/views/${name}`);
  if (view === undefined) return true;
  const asked = new URLSearchParams(request.rawQueryString);
  return !view.groupBy.every((field) => asked.has(`key.${field.name}`));
}
