/**
 * For unit tests of a pipeline: its answers for some records, through the real core, in memory, the same in every run.
 */
import type { AnswerRow } from '../core/query/view-answer.ts';
import { Random } from '../simulation/random.ts';
import { shardLogs } from './arrivals.ts';
import { MemoryRun } from './memory-run.ts';
import { type PipelineInput, planOfPipeline } from './pipeline-plan.ts';
import { type PartitionKey, type RecordInput, timedRecords } from './timed-records.ts';

export interface RunOptions {
  /** By default 1. */
  readonly shards?: number;
  /** By default the first group field of the first view that has one. */
  readonly partitionKey?: PartitionKey;
  /**
   * When a record arrives, in milliseconds since the epoch. By default records arrive in their order, at the newest time
   * so far; those without a time of their own a second after the one before, from 2026-01-01 on.
   */
  readonly arrivalOf?: (record: RecordInput, index: number) => number;
}

export interface PipelineAnswers {
  /** By view: its rows in the order of their keys, as the query API answers. */
  readonly views: Readonly<Record<string, readonly AnswerRow[]>>;
  /** What became of the records. */
  readonly counts: Readonly<Record<string, number>>;
  /** Records that could not be counted, as JSON text, and why. */
  readonly quarantined: readonly {
    readonly record: string;
    readonly reason: string;
    readonly detail: string;
  }[];
}

/** Rejects with `InvalidPipeline` for a pipeline that `tidemark check` refuses. */
export async function runPipeline(
  pipeline: PipelineInput,
  records: Iterable<RecordInput>,
  options: RunOptions = {},
): Promise<PipelineAnswers> {
  const plan = planOfPipeline(pipeline);
  const given = [...records];
  const { shards = 1, partitionKey, arrivalOf } = options;
  const arrivals = {
    shards,
    delays: undefined,
    retries: null,
    ...(arrivalOf === undefined
      ? {}
      : { arrivalOf: (index: number) => arrivalOf(given[index] as RecordInput, index) }),
  };
  const run = new MemoryRun(plan);
  const logs = shardLogs(
    plan,
    timedRecords(plan, given, partitionKey),
    arrivals,
    new Random('run'),
  );
  for (const log of logs) await run.deliver(log, Number.POSITIVE_INFINITY);
  const views = [];
  for (const { name } of plan.views) views.push([name, await run.rows(name)] as const);
  const quarantined = await run.quarantined();
  return {
    views: Object.fromEntries(views),
    counts: { ...(await run.status()).records },
    quarantined: quarantined.map(({ data, reason, detail }) => ({
      record: Buffer.from(data).toString(),
      reason,
      detail,
    })),
  };
}
