/**
 * A pipeline on records of its user, in a simulated world: what its answers are, what a person means by it, and why the two
 * differ. Each seed draws delays, retries and faults anew; the same seed is the same run.
 */
import type { Plan } from '../core/definition/plan.ts';
import { Random } from '../simulation/random.ts';
import { type ArrivalOptions, type Retries, shardLogs } from './arrivals.ts';
import { attribute } from './attribution.ts';
import { type Delays, isDrawn } from './delays.ts';
import { differencesOf, idealOf } from './differences.ts';
import { observeFaults } from './faulty-world.ts';
import { brokenPromise, findingsOf, type Observation } from './findings.ts';
import { MemoryRun, type SliceSizes } from './memory-run.ts';
import { type PipelineInput, planOfPipeline } from './pipeline-plan.ts';
import { reportText } from './report-text.ts';
import type { SimulationReport } from './simulation-report.ts';
import {
  type PartitionKey,
  type RecordInput,
  type TimedRecord,
  timedRecords,
} from './timed-records.ts';

export interface SimulateOptions {
  /** The records in the order in which they are produced; or what makes the `index`-th of `count`, from numbers in [0, 1). */
  readonly records?: Iterable<RecordInput>;
  readonly generator?: (random: () => number, index: number) => RecordInput;
  readonly count?: number;
  /** How many seeds, from 1 on (by default 20); or which ones. */
  readonly seeds?: number | readonly number[];
  /** From a record's own time to its arrival. Without it records arrive in the order in which they stand. */
  readonly delays?: Delays;
  /** Producers that send again; by default 2 % do after up to a minute, if the pipeline has `dedupe`. */
  readonly retries?: Retries | 'none';
  /** Crashes, lost answers, stale owners and the like, which must change no answer; by default the world's own choice. */
  readonly faults?: 'default' | 'none';
  /** By default 2. */
  readonly shards?: number;
  readonly partitionKey?: PartitionKey;
  /** Of the event source mapping; by default 10 s. */
  readonly batchWindowMs?: number;
}

const SEEDS_DEFAULT = 20;
const SHARDS_DEFAULT = 2;
const COUNT_DEFAULT = 1_000;
const BATCH_WINDOW_MS_DEFAULT = 10_000;
const RETRIES_DEFAULT: Retries = { share: 0.02, after: { p50: '1s', p99: '30s', max: '1m' } };

/** Rejects with `InvalidPipeline` or `InvalidDelay`; what goes wrong in a run is a finding. */
export async function simulate(
  pipeline: PipelineInput,
  options: SimulateOptions,
): Promise<SimulationReport> {
  const plan = planOfPipeline(pipeline);
  const seeds = seedsOf(options.seeds ?? SEEDS_DEFAULT);
  const observations: Observation[] = [];
  const wrongRows = new Map<string, number>();
  let records: TimedRecord[] = [];
  let first: SeedRun | null = null;
  for (const seed of seeds) {
    if (first === null || options.generator !== undefined) records = recordsOf(plan, options, seed);
    // Where nothing is drawn, one seed is as good as all.
    const known: SeedRun | null = isRandom(plan, options) ? null : first;
    const run: SeedRun = known ?? (await runSeed(plan, records, options, seed));
    first ??= run;
    observations.push(...run.observations.map((each) => ({ ...each, seed })));
    for (const [view, rows] of run.wrongRows) wrongRows.set(`${seed} ${view}`, rows);
    if (options.faults === 'none') continue;
    observations.push(...(await observeFaults(plan, records, seed)));
  }
  const report = {
    pipeline: plan.name,
    planHash: plan.hash,
    records: records.length,
    retries: first?.retries ?? 0,
    heartbeats: first?.heartbeats ?? 0,
    shards: options.shards ?? SHARDS_DEFAULT,
    seeds,
    findings: findingsOf(plan, observations, wrongRows),
    sizes: first?.sizes ?? [],
  };
  return { ...report, text: reportText(report) };
}

interface SeedRun {
  readonly observations: readonly Observation[];
  readonly wrongRows: ReadonlyMap<string, number>;
  readonly sizes: readonly SliceSizes[];
  readonly retries: number;
  readonly heartbeats: number;
}

async function runSeed(
  plan: Plan,
  records: readonly TimedRecord[],
  options: SimulateOptions,
  seed: number,
): Promise<SeedRun> {
  const arrivals: ArrivalOptions = {
    shards: options.shards ?? SHARDS_DEFAULT,
    delays: options.delays,
    retries: retriesOf(plan, options),
  };
  const logs = shardLogs(plan, records, arrivals, new Random(`arrivals ${seed}`));
  const run = new MemoryRun(plan);
  for (const log of logs) {
    await run.deliver(log, options.batchWindowMs ?? BATCH_WINDOW_MS_DEFAULT);
  }
  const { recounts, observations } = attribute(plan, logs, seed);
  const ideal = idealOf(plan, records, logs);
  const { broken, wrongRows } = await differencesOf(plan, run, recounts, ideal);
  const promises = broken.map((detail) => brokenPromise(detail, seed));
  const arrived = logs.flatMap((log) => log.records);
  const heartbeats = arrived.filter(({ index }) => index < 0).length;
  return {
    observations: [...promises, ...observations],
    wrongRows,
    sizes: run.sizes,
    retries: arrived.length - heartbeats - records.length,
    heartbeats,
  };
}

function recordsOf(plan: Plan, options: SimulateOptions, seed: number): TimedRecord[] {
  const { records, generator, count = COUNT_DEFAULT, partitionKey } = options;
  if (records !== undefined) return timedRecords(plan, records, partitionKey);
  if (generator === undefined) throw new TypeError('simulate: give records, or a generator');
  const random = new Random(`records ${seed}`);
  const made = Array.from({ length: count }, (_, index) =>
    generator(() => random.fraction(), index),
  );
  return timedRecords(plan, made, partitionKey);
}

function seedsOf(seeds: number | readonly number[]): readonly number[] {
  return typeof seeds === 'number' ? Array.from({ length: seeds }, (_, index) => index + 1) : seeds;
}

function retriesOf(plan: Plan, { retries }: SimulateOptions): Retries | null {
  if (retries === 'none') return null;
  return retries ?? (plan.dedupe === null ? null : RETRIES_DEFAULT);
}

function isRandom(plan: Plan, options: SimulateOptions): boolean {
  const hasRetries = retriesOf(plan, options) !== null;
  return hasRetries || isDrawn(options.delays) || options.generator !== undefined;
}
