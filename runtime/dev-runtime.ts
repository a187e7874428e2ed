/**
 * The embedded runtime behind `tidemark dev`: one data folder, one port. It takes records in through the Kinesis API,
 * brings them to environments as Lambda would, and answers queries.
 *
 *   PutRecords → stream.db → event source mapping → environments (threads) → checkpoint.db, objects/
 *                                              queries → query environment (thread) ─┘
 */
import { type DataFolder, openDataFolder } from '../adapters/local/data-folder.ts';
import { FolderWatch } from '../adapters/local/folder-watch.ts';
import type { CheckpointDatabase } from '../adapters/local/store/checkpoint-database.ts';
import type { FileObjectStore } from '../adapters/local/store/file-object-store.ts';
import { LocalCheckpointStore } from '../adapters/local/store/local-checkpoint-store.ts';
import { LocalPlanRegistry } from '../adapters/local/store/local-plan-registry.ts';
import type { LocalStream } from '../adapters/local/stream/local-stream.ts';
import { PathSample } from '../core/decode/path-sample.ts';
import type { Plan } from '../core/definition/plan.ts';
import type { Position } from '../core/position.ts';
import { isRecovering, sliceIdOf } from '../core/slice/topology.ts';
import { type Activation, activatePlan } from '../core/task/plan-activation.ts';
import type { CheckpointedSlice } from '../functions/admin/checkpoint-answer.ts';
import type { AggregateAnswer, AggregatePayload } from './aggregate-environment.ts';
import { damageNews } from './damage-news.ts';
import { Deployment, type DeploymentOptions, QUERY_TIMEOUT_MS } from './deployment.ts';
import { InvocationError } from './environment-pool.ts';
import { EventSourceMapping } from './event-source-mapping.ts';
import { FailureNews } from './failure-news.ts';
import { type FolderStores, openFolderStores } from './folder-stores.ts';
import { Heartbeats } from './heartbeats.ts';
import { PortServer } from './http/port-server.ts';
import type { Route } from './http/route.ts';
import { failureOf } from './invocation.ts';
import { kinesisRoute } from './kinesis-api/kinesis-api.ts';
import { systemClock } from './local-ports.ts';
import { pageRoutes } from './page-routes.ts';
import { checkpointRoute } from './query-api/checkpoint-route.ts';
import { purgeRoute } from './query-api/purge-route.ts';
import { queryRoutes } from './query-api/query-routes.ts';
import { redriveRoute } from './query-api/redrive-route.ts';
import type { RuntimeEvent } from './runtime-event.ts';
import { SliceHeads } from './slice-heads.ts';
import { recoverSlice } from './slice-recovery.ts';
import { SliceTicker } from './slice-ticker.ts';

export interface DevRuntimeOptions extends DeploymentOptions {
  readonly plan: Plan;
  /** 0 takes a free one. */
  readonly port: number;
  /** Of a new stream; null keeps what is there, or takes the default. */
  readonly shardCount: number | null;
  readonly batchWindowMs: number;
  readonly allowHosts: readonly string[];
  readonly onEvent: (event: RuntimeEvent) => void;
}

const TRIM_INTERVAL_MS = 3_600_000;
const REPLAY_TIMEOUT_MS = 3_600_000;
/** What is due although no record comes waits this long at most. */
const TICK_INTERVAL_MS = 2_000;

export class DevRuntime {
  readonly #options: DevRuntimeOptions;
  readonly #folder: DataFolder;
  readonly #stream: LocalStream;
  readonly #database: CheckpointDatabase;
  readonly #objects: FileObjectStore;
  readonly #watch: FolderWatch;
  /** Resolves to why, when the data folder was removed or replaced under this process: nothing can be taken in any more. */
  readonly lost: Promise<unknown>;
  readonly #heads: SliceHeads;
  readonly #plans: LocalPlanRegistry;
  readonly #heartbeats: Heartbeats;
  readonly #news = new FailureNews();
  readonly #startedMs = performance.now();
  /** Carries the active plan. */
  #deployment: Deployment;
  /** Of the records that were put since the active plan came. */
  #sample: PathSample;
  #mapping: EventSourceMapping | null = null;
  #ticker: SliceTicker | null = null;
  #server: PortServer | null = null;
  #trimTimer: NodeJS.Timeout | null = null;
  #restoredRecords = 0;
  #trimming: Promise<void> = Promise.resolve();
  #reloading: Promise<unknown> = Promise.resolve();

  /** Resolves when the port is open. Rejects with an `Error` that says what to do when it cannot start. */
  static async start(options: DevRuntimeOptions): Promise<DevRuntime> {
    await assertPortIsFree(options.port);
    const { dataFolder, plan } = options;
    const folder = await openDataFolder({ path: dataFolder, pipelineName: plan.name });
    let runtime: DevRuntime;
    try {
      const { shardCount } = options;
      const stores = await openFolderStores(folder, {
        name: plan.stream,
        clock: systemClock,
        ...(shardCount === null ? {} : { shardCount }),
      });
      runtime = new DevRuntime(options, folder, stores);
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

  private constructor(
    options: DevRuntimeOptions,
    folder: DataFolder,
    { stream, database, objects }: FolderStores,
  ) {
    const { plan, onEvent } = options;
    this.#options = options;
    this.#folder = folder;
    this.#stream = stream;
    this.#database = database;
    this.#objects = objects;
    const { promise: lost, resolve } = Promise.withResolvers<unknown>();
    this.lost = lost;
    this.#watch = new FolderWatch(folder.paths, resolve);
    this.#heads = new SliceHeads(stream, new LocalCheckpointStore(database), objects);
    this.#plans = new LocalPlanRegistry(this.#database);
    this.#deployment = new Deployment(plan, options);
    this.#sample = new PathSample(plan);
    this.#heartbeats = new Heartbeats(this.#stream, (error) =>
      onEvent({ kind: 'heartbeat-failed', error }),
    );
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

  /**
   * Goes over to another plan of the same pipeline; resolves when no environment of the one before is left. Rejects with
   * `OtherPipelineError` if it is none of the same, and goes on as before.
   */
  reload(plan: Plan): Promise<'reloaded' | 'same'> {
    const reloaded = this.#reloading.then(() => this.#reload(plan));
    this.#reloading = reloaded.catch(() => {});
    return reloaded;
  }

  /** Answers running requests, lets running invocations commit, and gives the data folder back. */
  async close(): Promise<void> {
    this.#watch.stop();
    if (this.#trimTimer !== null) clearInterval(this.#trimTimer);
    this.#heartbeats.stop();
    await this.#reloading;
    await this.#trimming;
    await this.#server?.close();
    await this.#ticker?.stop();
    await this.#mapping?.stop();
    await this.#deployment.close();
    this.#stream.close();
    this.#database.close();
    await this.#folder.close();
  }

  async #start(): Promise<void> {
    const { onEvent, plan, port, allowHosts } = this.#options;
    this.#deployment.warm();
    await this.#trim();
    this.#trimTimer = setInterval(() => {
      this.#trimming = this.#trim().catch((error: unknown) =>
        onEvent({ kind: 'trim-failed', error }),
      );
    }, TRIM_INTERVAL_MS);
    this.#trimTimer.unref();
    const unsaved = await this.#heads.unsavedCount();
    const { ordinal } = await this.#activate(plan);
    const heads = await this.#heads.open(ordinal, plan.hash);
    this.#restoredRecords = heads.reduce((sum, { recordCount }) => sum + recordCount, 0);
    this.#mapping = this.#mapStream(
      new Map(heads.map(({ shardId, delivered }) => [shardId, delivered])),
    );
    this.#ticker = new SliceTicker({
      shardIds: this.#stream.shards().map(({ shardId }) => shardId),
      intervalMs: TICK_INTERVAL_MS,
      tick: (shardId) => this.#tick(shardId),
      onFailure: (shardId, error) => this.#tickFailed(shardId, error),
    });
    this.#heartbeats.follow(plan.idleMs);
    this.#server = await PortServer.listen({
      port,
      allowHosts,
      routes: this.#routes(),
      onError: (error) => onEvent({ kind: 'request-failed', error }),
    });
    if (unsaved > 0) void this.#reportReplay(unsaved);
    for (const { shardId } of heads.filter(isRecovering)) void this.#recover(shardId);
    // Slices that no record comes to go over to the plan too.
    void this.#ticker.tickAll();
  }

  async #reload(plan: Plan): Promise<'reloaded' | 'same'> {
    const before = this.#deployment;
    if (plan.hash === before.plan.hash) return 'same';
    refuseOtherPipeline(before.plan, plan);
    const next = new Deployment(plan, this.#options);
    next.warm();
    try {
      await this.#activate(plan);
    } catch (error) {
      await next.close();
      throw error;
    }
    // What runs under the plan before may still commit: a slice goes over at its next invocation.
    this.#deployment = next;
    this.#sample = new PathSample(plan);
    this.#heartbeats.follow(plan.idleMs);
    await before.close(next);
    await this.#ticker?.tickAll();
    return 'reloaded';
  }

  async #activate(plan: Plan): Promise<Activation> {
    const activation = await activatePlan(plan, {
      registry: this.#plans,
      heads: await this.#heads.all(),
      objects: this.#objects,
      nowMs: systemClock.nowMs(),
    });
    const { change } = activation;
    if (change !== null) this.#options.onEvent({ kind: 'plan-activated', ...change });
    return activation;
  }

  #mapStream(delivered: ReadonlyMap<string, Position>): EventSourceMapping {
    const { batchWindowMs, onEvent } = this.#options;
    return new EventSourceMapping({
      stream: this.#stream,
      pool: { invoke: (payload) => this.#invoke(payload as AggregatePayload) },
      batchWindowMs,
      delivered,
      cursorOf: (shardId) => this.#heads.cursorOf(shardId),
      onFailure: (shardId, failure, retryInMs) => {
        // Held is no failure: the batch waits until the owner of the slice is done, and is reported once.
        const isHeld = failure.name === 'HeldFault';
        if (isHeld && !this.#news.isNew(shardId, failure)) return;
        onEvent({ kind: 'invocation-failed', shardId, failure, retryInMs });
      },
    });
  }

  #routes(): Route[] {
    const { region } = this.#options;
    return [
      kinesisRoute({
        stream: this.#stream,
        clock: systemClock,
        region,
        onAppended: (entries) => {
          for (const { data } of this.#sample.isFull ? [] : entries) this.#sample.add(data);
        },
      }),
      ...queryRoutes((event, signal) => this.#deployment.query(event, signal), {
        hints: () => this.#sample.hints({ withoutOther: false }),
      }),
      checkpointRoute(() => this.#checkpoint()),
      redriveRoute({
        zone: () => this.#deployment.plan.zone,
        invoke: (payload) => this.#deployment.query(payload),
        tick: (sliceId) => this.#tickSlice(sliceId),
      }),
      purgeRoute(
        () => this.#deployment.plan.zone,
        (payload) => this.#deployment.query(payload),
      ),
      ...pageRoutes(),
    ];
  }

  async #invoke(payload: AggregatePayload): Promise<AggregateAnswer> {
    const answer = (await this.#deployment.aggregates.invoke(payload)) as AggregateAnswer;
    const { shardId } = payload;
    if (payload.kind === 'records') this.#news.over(shardId);
    const timelineOf = async () => (await this.#heads.of(shardId))?.timeline ?? 0;
    for (const event of await damageNews(shardId, answer, timelineOf)) {
      this.#options.onEvent(event);
    }
    return answer;
  }

  /** A base of every slice that holds at least all records that are in the stream now. */
  async #checkpoint(): Promise<CheckpointedSlice[]> {
    const mapping = this.#mapping as EventSourceMapping;
    return Promise.all(
      this.#stream.shards().map(async ({ shardId }) => {
        if (!(await mapping.caughtUp(shardId, QUERY_TIMEOUT_MS))) throw notCaughtUp(shardId);
        const answer = await mapping.inTurn(shardId, () =>
          this.#invoke({ kind: 'checkpoint', shardId }),
        );
        const epoch = answer.outcome === 'done' ? answer.epoch : 0;
        return { id: sliceIdOf(shardId), shardId, epoch };
      }),
    );
  }

  /** This process holds the folder, so the owner that recovered the slice is dead: its lease need not be waited for. */
  async #recover(shardId: string): Promise<void> {
    const mapping = this.#mapping as EventSourceMapping;
    try {
      await recoverSlice(shardId, (payload) =>
        mapping.inTurn(shardId, () => this.#invoke(payload)),
      );
    } catch (error) {
      this.#tickFailed(shardId, error);
    }
  }

  /** True if the next tick has something to do at once. */
  async #tick(shardId: string): Promise<boolean> {
    const mapping = this.#mapping as EventSourceMapping;
    const answer = await mapping.inTurn(shardId, () => this.#invoke({ kind: 'tick', shardId }));
    this.#news.over(`tick of ${shardId}`);
    return answer.outcome === 'done' && answer.isUnfinished;
  }

  async #tickSlice(sliceId: string): Promise<void> {
    const shard = this.#stream.shards().find(({ shardId }) => sliceIdOf(shardId) === sliceId);
    if (shard === undefined) return;
    try {
      await this.#tick(shard.shardId);
    } catch (error) {
      this.#tickFailed(shard.shardId, error);
    }
  }

  #tickFailed(shardId: string, error: unknown): void {
    const failure = error instanceof InvocationError ? error.failure : failureOf(error);
    if (failure.name === 'Closed' || !this.#news.isNew(`tick of ${shardId}`, failure)) return;
    this.#options.onEvent({ kind: 'tick-failed', shardId, failure });
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
    const nowMs = systemClock.nowMs();
    await this.#stream.trimExpired(nowMs, await this.#heads.keepAfter(nowMs));
  }
}

/** A changed file that is no plan of the pipeline that runs. */
class OtherPipelineError extends Error {
  readonly hint = 'start it with a data folder of its own: another --data';

  constructor(what: 'name' | 'stream', found: string, expected: string) {
    super(`the ${what} is '${found}' now, this process runs '${expected}'`);
    this.name = 'OtherPipelineError';
  }
}

function refuseOtherPipeline(before: Plan, after: Plan): void {
  for (const what of ['name', 'stream'] as const) {
    if (before[what] !== after[what]) throw new OtherPipelineError(what, after[what], before[what]);
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

/** Found out before a data folder is made, which would then hold this pipeline's name. */
async function assertPortIsFree(port: number): Promise<void> {
  if (port === 0) return;
  const probe = await PortServer.listen({ port, routes: [], onError: () => {} });
  await probe.close();
}
