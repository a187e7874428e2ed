/**
 * The embedded runtime behind `tidemark dev`: one data folder, one port. It takes records in through the Kinesis API,
 * brings them to environments as Lambda would, and answers queries.
 *
 *   PutRecords → stream.db → event source mapping → environments (threads) → checkpoint.db, objects/
 *                                              queries → query environment (thread) ─┘
 */

import { type DataFolder, openDataFolder } from '../adapters/local/data-folder.ts';
import { CheckpointDatabase } from '../adapters/local/store/checkpoint-database.ts';
import { LocalCheckpointStore } from '../adapters/local/store/local-checkpoint-store.ts';
import { LocalStream } from '../adapters/local/stream/local-stream.ts';
import { sliceIdOf } from '../core/aggregator.ts';
import { firstHead, headItem, parseHead } from '../core/checkpoint/head.ts';
import type { PipelineJson } from '../core/definition/pipeline-json.ts';
import type { Plan } from '../core/definition/plan.ts';
import { describeDifference } from '../core/definition/plan-difference.ts';
import { canonicalJson, planToJson } from '../core/definition/plan-json.ts';
import { type Position, START } from '../core/position.ts';
import type { AggregateAnswer, EnvironmentData } from './aggregate-environment.ts';
import { EnvironmentPool, InvocationError } from './environment-pool.ts';
import { EventSourceMapping } from './event-source-mapping.ts';
import { PortServer } from './http/port-server.ts';
import type { Route } from './http/route.ts';
import type { FunctionFailure } from './invocation.ts';
import { kinesisRoute } from './kinesis-api/kinesis-api.ts';
import { randomNonces, systemClock } from './local-ports.ts';
import { pageRoutes } from './page-routes.ts';
import { type CheckpointedSlice, checkpointRoute } from './query-api/checkpoint-route.ts';
import { queryRoutes } from './query-api/query-routes.ts';
import { threadEntry } from './thread-entry.ts';

export interface DevRuntimeOptions {
  readonly plan: Plan;
  readonly dataFolder: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Of a new stream; null keeps what is there, or takes the default. */
  readonly shardCount: number | null;
  readonly environmentCount: number;
  readonly environmentMemoryMib: number;
  readonly batchWindowMs: number;
  readonly invocationTimeoutMs: number;
  readonly allowHosts: readonly string[];
  readonly region: string;
  readonly onEvent: (event: RuntimeEvent) => void;
}

export type RuntimeEvent =
  /** At start: records that are in the stream and in no checkpoint. */
  | { readonly kind: 'replaying'; readonly records: number }
  /** They are in a checkpoint now. */
  | { readonly kind: 'replayed'; readonly records: number; readonly ms: number }
  | {
      readonly kind: 'invocation-failed';
      readonly shardId: string;
      readonly failure: FunctionFailure;
      readonly retryInMs: number;
    }
  | { readonly kind: 'request-failed' | 'trim-failed'; readonly error: unknown };

const QUERY_MEMORY_MIB = 256;
const QUERY_TIMEOUT_MS = 60_000;
const TRIM_INTERVAL_MS = 3_600_000;
const REPLAY_TIMEOUT_MS = 3_600_000;

export class DevRuntime {
  readonly #options: DevRuntimeOptions;
  readonly #folder: DataFolder;
  readonly #stream: LocalStream;
  readonly #database: CheckpointDatabase;
  readonly #heads: LocalCheckpointStore;
  readonly #aggregates: EnvironmentPool;
  readonly #queries: EnvironmentPool;
  readonly #startedMs = performance.now();
  #mapping: EventSourceMapping | null = null;
  #server: PortServer | null = null;
  #trimTimer: NodeJS.Timeout | null = null;
  #restoredRecords = 0;
  #trimming: Promise<void> = Promise.resolve();

  /** Resolves when the port is open. Rejects with an `Error` that says what to do when it cannot start. */
  static async start(options: DevRuntimeOptions): Promise<DevRuntime> {
    await assertPortIsFree(options.port);
    const folder = await claimFolder(options);
    let runtime: DevRuntime;
    try {
      runtime = new DevRuntime(options, folder);
    } catch (error) {
      await folder.close();
      throw error;
    }
    try {
      await runtime.#start();
    } catch (error) {
      await runtime.close();
      throw error;
    }
    return runtime;
  }

  private constructor(options: DevRuntimeOptions, folder: DataFolder) {
    const { plan, dataFolder, shardCount, region } = options;
    this.#options = options;
    this.#folder = folder;
    this.#stream = LocalStream.open({
      path: folder.streamPath,
      name: plan.stream,
      clock: systemClock,
      ...(shardCount === null ? {} : { shardCount }),
    });
    this.#database = CheckpointDatabase.open(folder.checkpointPath);
    this.#heads = new LocalCheckpointStore(this.#database);
    const workerData: EnvironmentData = { pipeline: planToJson(plan), dataFolder, region };
    this.#aggregates = new EnvironmentPool({
      name: 'aggregate',
      count: options.environmentCount,
      entry: threadEntry('aggregate-environment'),
      workerData,
      memoryMib: options.environmentMemoryMib,
      memoryHint: 'start with a larger --environment-memory, or with more shards for a new stream',
      timeoutMs: options.invocationTimeoutMs,
    });
    this.#queries = new EnvironmentPool({
      name: 'query',
      count: 1,
      entry: threadEntry('query-environment'),
      workerData,
      memoryMib: QUERY_MEMORY_MIB,
      memoryHint: 'ask for less at once: by key, prefix, start and end, or without order',
      timeoutMs: QUERY_TIMEOUT_MS,
    });
  }

  get url(): string {
    return (this.#server as PortServer).url;
  }

  /** Records that checkpoints held when it started. */
  get restoredRecords(): number {
    return this.#restoredRecords;
  }

  get shardCount(): number {
    return this.#stream.shards().length;
  }

  /** Answers running requests, lets running invocations commit, and gives the data folder back. */
  async close(): Promise<void> {
    if (this.#trimTimer !== null) clearInterval(this.#trimTimer);
    await this.#trimming;
    await this.#server?.close();
    await this.#mapping?.stop();
    await Promise.all([this.#aggregates.close(), this.#queries.close()]);
    this.#stream.close();
    this.#database.close();
    await this.#folder.close();
  }

  async #start(): Promise<void> {
    this.#aggregates.warm();
    this.#queries.warm();
    await this.#trim();
    const { onEvent, batchWindowMs, port, allowHosts } = this.#options;
    this.#trimTimer = setInterval(() => {
      this.#trimming = this.#trim().catch((error: unknown) =>
        onEvent({ kind: 'trim-failed', error }),
      );
    }, TRIM_INTERVAL_MS);
    this.#trimTimer.unref();
    const unsaved = await this.#unsavedCount();
    this.#mapping = new EventSourceMapping({
      stream: this.#stream,
      pool: this.#aggregates,
      batchWindowMs,
      delivered: await this.#openSlices(),
      cursorOf: (shardId) => this.#cursorOf(shardId),
      onFailure: (shardId, failure, retryInMs) =>
        onEvent({ kind: 'invocation-failed', shardId, failure, retryInMs }),
    });
    this.#server = await PortServer.listen({
      port,
      allowHosts,
      routes: this.#routes(),
      onError: (error) => onEvent({ kind: 'request-failed', error }),
    });
    if (unsaved > 0) void this.#reportReplay(unsaved);
  }

  #routes(): Route[] {
    const { region } = this.#options;
    return [
      kinesisRoute({ stream: this.#stream, clock: systemClock, region }),
      ...queryRoutes((request) => this.#queries.invoke(request)),
      checkpointRoute(() => this.#checkpoint()),
      ...pageRoutes(),
    ];
  }

  /** A base of every slice that holds at least all records that are in the stream now. */
  async #checkpoint(): Promise<CheckpointedSlice[]> {
    const mapping = this.#mapping as EventSourceMapping;
    return Promise.all(
      this.#stream.shards().map(async ({ shardId }) => {
        if (!(await mapping.caughtUp(shardId, QUERY_TIMEOUT_MS))) throw notCaughtUp(shardId);
        const payload = { kind: 'checkpoint', shardId } as const;
        const answer = (await mapping.inTurn(shardId, () =>
          this.#aggregates.invoke(payload),
        )) as AggregateAnswer;
        return {
          id: sliceIdOf(shardId),
          shardId,
          epoch: answer.outcome === 'checkpoint' ? answer.epoch : 0,
        };
      }),
    );
  }

  async #cursorOf(shardId: string): Promise<Position> {
    const item = await this.#heads.readHead(sliceIdOf(shardId));
    return item === null ? START : parseHead(item).cursor;
  }

  /** Makes sure that each shard has a slice, so that one without records is known too; `delivered` of each. */
  async #openSlices(): Promise<Map<string, Position>> {
    for (const { shardId, range } of this.#stream.shards()) {
      const identity = { sliceId: sliceIdOf(shardId), shardId, range };
      const nonce = randomNonces.nonce();
      const head = firstHead({ ...identity, planHash: this.#options.plan.hash, nonce });
      // Refused if it is there, which is as good.
      await this.#heads.createHead(headItem(head));
    }
    const heads = (await this.#heads.listHeads()).map(parseHead);
    this.#restoredRecords = heads.reduce((sum, { digest }) => sum + digest.count, 0);
    return new Map(heads.map(({ shardId, delivered }) => [shardId, delivered]));
  }

  /** Records that are in the stream and in no checkpoint. */
  async #unsavedCount(): Promise<number> {
    let count = 0;
    for (const { shardId } of this.#stream.shards()) {
      const { sequenceNumber } = await this.#cursorOf(shardId);
      const tip = this.#stream.tip(shardId);
      if (sequenceNumber === START.sequenceNumber) {
        count += tip.count;
        continue;
      }
      const located = this.#stream.locate(shardId, { kind: 'AFTER', sequenceNumber });
      if (located.outcome === 'located') count += tip.ordinal - located.ordinal + 1;
    }
    return count;
  }

  async #reportReplay(records: number): Promise<void> {
    const { onEvent } = this.#options;
    onEvent({ kind: 'replaying', records });
    const mapping = this.#mapping as EventSourceMapping;
    const shards = this.#stream.shards();
    const caughtUp = await Promise.all(
      shards.map(({ shardId }) => mapping.caughtUp(shardId, REPLAY_TIMEOUT_MS)),
    );
    if (!caughtUp.every(Boolean)) return;
    onEvent({ kind: 'replayed', records, ms: Math.round(performance.now() - this.#startedMs) });
  }

  async #trim(): Promise<void> {
    const cursors = new Map<string, Position>();
    for (const { shardId } of this.#stream.shards()) {
      cursors.set(shardId, await this.#cursorOf(shardId));
    }
    await this.#stream.trimExpired(systemClock.nowMs(), cursors);
  }
}

function notCaughtUp(shardId: string): InvocationError {
  return new InvocationError({
    name: 'Timeout',
    message: `${shardId} has records that no environment has folded yet`,
    hint: 'look at the output of tidemark dev for what holds them up, then try again',
    stack: null,
  });
}

/** Found out before a data folder is made, which would then hold this pipeline's name and plan. */
async function assertPortIsFree(port: number): Promise<void> {
  if (port === 0) return;
  const probe = await PortServer.listen({ port, routes: [], onError: () => {} });
  await probe.close();
}

/** The data folder, ours alone. A pipeline that means something else than the one in the folder is refused. */
async function claimFolder({ dataFolder, plan }: DevRuntimeOptions): Promise<DataFolder> {
  const pipeline = planToJson(plan);
  const outcome = await openDataFolder({
    path: dataFolder,
    pipelineName: plan.name,
    planHash: plan.hash,
    planJson: canonicalJson(pipeline),
  });
  if (outcome.kind === 'opened') return outcome.folder;
  const changes = describeDifference(JSON.parse(outcome.stored) as PipelineJson, pipeline);
  throw new PlanChangedError(dataFolder, changes);
}

/** The pipeline file changed its meaning since the data folder was written. */
export class PlanChangedError extends Error {
  readonly hint =
    'put the file back as it was, or run the changed one with another --data; nothing was touched';

  constructor(dataFolder: string, changes: readonly string[]) {
    const lines = changes.map((change) => `  ${change}`);
    super(
      [`the pipeline is not the one that ${dataFolder} holds; what changed:`, ...lines].join('\n'),
    );
    this.name = 'PlanChangedError';
  }
}
