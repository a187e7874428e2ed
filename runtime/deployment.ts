/**
 * The environments that carry one plan: some that aggregate, one that answers queries. A pipeline whose plan changes has
 * two deployments for a moment.
 */
import type { Plan } from '../core/definition/plan.ts';
import { planToJson } from '../core/definition/plan-json.ts';
import type { EnvironmentData } from './aggregate-environment.ts';
import { EnvironmentPool } from './environment-pool.ts';
import { threadEntry } from './thread-entry.ts';

export interface DeploymentOptions {
  readonly dataFolder: string;
  readonly region: string;
  readonly environmentCount: number;
  readonly environmentMemoryMib: number;
  readonly invocationTimeoutMs: number;
}

const QUERY_MEMORY_MIB = 256;
export const QUERY_TIMEOUT_MS = 60_000;

export class Deployment {
  readonly plan: Plan;
  readonly aggregates: EnvironmentPool;
  readonly queries: EnvironmentPool;

  constructor(plan: Plan, options: DeploymentOptions) {
    const { dataFolder, region } = options;
    const workerData: EnvironmentData = { pipeline: planToJson(plan), dataFolder, region };
    this.plan = plan;
    this.aggregates = new EnvironmentPool({
      name: 'aggregate',
      count: options.environmentCount,
      entry: threadEntry('aggregate-environment'),
      workerData,
      memoryMib: options.environmentMemoryMib,
      memoryHint: 'start with a larger --environment-memory, or with more shards for a new stream',
      timeoutMs: options.invocationTimeoutMs,
    });
    this.queries = new EnvironmentPool({
      name: 'query',
      count: 1,
      entry: threadEntry('query-environment'),
      workerData,
      memoryMib: QUERY_MEMORY_MIB,
      memoryHint: 'ask for less at once: by key, prefix, start and end, or without order',
      timeoutMs: QUERY_TIMEOUT_MS,
    });
  }

  /** Starts the threads before the first invocation needs them. */
  warm(): void {
    this.aggregates.warm();
    this.queries.warm();
  }

  /** Lets running invocations finish; those that wait go to the successor, or end. */
  async close(successor: Deployment | null = null): Promise<void> {
    await Promise.all([
      this.aggregates.close(successor?.aggregates),
      this.queries.close(successor?.queries),
    ]);
  }
}
