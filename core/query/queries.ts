/**
 * The reads of one pipeline. A query takes a snapshot, one epoch of each slice, and answers from exactly that. Queries of
 * one instance run one after the other, since the warm images move between them. A reader that waits for a record (`after`)
 * asks again rather than hold its turn.
 */
import { MissingBlob } from '../checkpoint/blobs.ts';
import { packsOf } from '../checkpoint/manifest.ts';
import { blobKey } from '../checkpoint/names.ts';
import { PartCache } from '../checkpoint/part-cache.ts';
import { RunCache } from '../checkpoint/run-cache.ts';
import type { Plan } from '../definition/plan.ts';
import { planToJson, viewToJson } from '../definition/plan-json.ts';
import { mayHavePassed } from '../elapsed.ts';
import { SNAPSHOT_AGE_MS_MAX } from '../limits.ts';
import { type QuarantineIndex, type QuarantineSelection, quarantineId } from '../ports.ts';
import { Zone } from '../time/zone.ts';
import { IdleShards } from './idle-shards.ts';
import type { Pace } from './pace.ts';
import type { QueryParameters } from './parameter-values.ts';
import type { RecordChoice } from './quarantine-body.ts';
import {
  listQuarantine,
  parseQuarantineRequest,
  type QuarantineList,
  type QuarantineSummary,
  summarizeQuarantine,
} from './quarantine-list.ts';
import { type Asked, didYouMean, gone, guarded, Refused, refuse } from './query-problem.ts';
import { ReaderMemory } from './reader-memory.ts';
import { RowIndexes } from './row-indexes.ts';
import type { RunReading } from './row-sources.ts';
import type { SnapshotToken } from './snapshot-token.ts';
import { type Seeking, type Snapshot, type SnapshotPorts, Snapshots } from './snapshots.ts';
import { type PipelineStatus, pipelineStatus, type StatusPorts } from './status.ts';
import { type ViewAnswer, viewAnswer } from './view-answer.ts';
import { parseViewRequest, type ViewRequest } from './view-request.ts';
import { readRows } from './view-rows.ts';
import {
  type QuarantineSources,
  type QuarantineStandings,
  quarantinedPlaces,
  standingsOf,
} from './waiting-records.ts';

export interface QueryPorts extends StatusPorts, SnapshotPorts {
  readonly quarantine: QuarantineIndex;
  readonly seeking?: Seeking;
  /** Of the query that runs: queries run one at a time. */
  readonly pace?: Pace;
}

/** Times that a snapshot is taken, when runs or packs that it names were collected before they were read; then they are lost. */
const ATTEMPTS_MAX = 3;

/** The pipeline file that means what runs, with its defaults spelled out. */
export interface PipelineAnswer {
  readonly hash: string;
  readonly pipeline: object;
}

export function pipelineAnswer(plan: Plan): PipelineAnswer {
  return { hash: plan.hash, pipeline: planToJson(plan) };
}

export class Queries {
  readonly #plan: Plan;
  readonly #ports: QueryPorts;
  readonly #idleShards: IdleShards;
  readonly #snapshots: Snapshots;
  readonly #runs: RunCache;
  readonly #parts: PartCache;
  readonly #indexes = new RowIndexes();
  #last: Promise<unknown> = Promise.resolve();

  constructor(plan: Plan, ports: QueryPorts) {
    this.#plan = plan;
    this.#ports = ports;
    this.#idleShards = new IdleShards(ports);
    this.#parts = new PartCache(ports.blobs);
    this.#snapshots = new Snapshots(plan, ports, {
      idleShards: this.#idleShards,
      memory: new ReaderMemory(this.#indexes, this.#parts),
      parts: this.#parts,
      ...(ports.seeking === undefined ? {} : { seeking: ports.seeking }),
    });
    this.#runs = new RunCache(ports.blobs);
  }

  /** What the views are, as in the pipeline file with its defaults spelled out. */
  views(): { views: object[] } {
    const views = this.#plan.views.map((view) => {
      const { window, ...rest } = viewToJson(this.#plan, view);
      return { name: view.name, ...rest, window: window ?? null };
    });
    return { views };
  }

  pipeline(): PipelineAnswer {
    return pipelineAnswer(this.#plan);
  }

  async view(name: string, parameters: QueryParameters): Promise<Asked<ViewAnswer>> {
    const request = parseViewRequest(this.#plan, name, parameters);
    if (!request.ok) return request;
    return this.#inTurn(() => this.#answer(request.value));
  }

  status(): Promise<Asked<PipelineStatus>> {
    return guarded(() => pipelineStatus(this.#plan, this.#ports, this.#idleShards));
  }

  async quarantine(
    parameters: QueryParameters,
  ): Promise<Asked<QuarantineList | QuarantineSummary>> {
    const request = parseQuarantineRequest(parameters, this.#plan.zone);
    if (!request.ok) return request;
    const zone = new Zone(this.#plan.zone);
    const answer = request.value.isSummary ? summarizeQuarantine : listQuarantine;
    return this.#inTurn(async () => answer(request.value, await this.#quarantineNow(), zone));
  }

  /** Ids of the first records that wait in the quarantine and are selected, those after `after` only. */
  quarantinedIds(
    selection: QuarantineSelection,
    after: string | null,
    limit: number,
  ): Promise<Asked<string[]>> {
    return this.#inTurn(async () => {
      const ids: string[] = [];
      const sources = await this.#quarantineNow();
      for await (const record of quarantinedPlaces(after, selection, sources)) {
        ids.push(quarantineId(record));
        if (ids.length === limit) break;
      }
      return ids;
    });
  }

  /** What the ledgers say of the first chosen records, at most `limit` of a selection. */
  quarantinedStandings(choice: RecordChoice, limit: number): Promise<Asked<QuarantineStandings>> {
    return this.#inTurn(async () => standingsOf(choice, limit, await this.#quarantineNow()));
  }

  async #quarantineNow(): Promise<QuarantineSources> {
    const slices = await this.#snapshots.newestSlices();
    return { slices, index: this.#ports.quarantine, runs: this.#runs };
  }

  async #answer(request: ViewRequest): Promise<ViewAnswer> {
    const { next } = request;
    const { pace } = this.#ports;
    const nowMs = this.#ports.clock.nowMs();
    if (next !== null) judgeToken(next, request, nowMs);
    for (let attempt = 1; ; attempt++) {
      const isLost = attempt === 1 ? () => false : await this.#lostBlobs(attempt, next);
      const snapshot = await this.#snapshot(request);
      await this.#refuseUnknownShards(request, snapshot);
      try {
        const [runs, parts, indexes] = [this.#runs, this.#parts, this.#indexes];
        const reading = { runs, parts, isLost, indexes, ...(pace === undefined ? {} : { pace }) };
        const page = await readRows(request, snapshot.parts, reading);
        return viewAnswer(this.#plan, request, snapshot, page, nowMs);
      } catch (fault) {
        if (!(fault instanceof MissingBlob)) throw fault;
        if (next !== null && attempt > 1) throw notKept();
      }
    }
  }

  /** A record of a shard that the stream does not have never comes. */
  async #refuseUnknownShards({ after }: ViewRequest, { parts }: Snapshot): Promise<void> {
    const known = new Set(parts.map(({ shardId }) => shardId));
    if (after.every(({ shardId }) => known.has(shardId))) return;
    // One that came a moment ago is not in a list that is kept for a while.
    const { shardIds } = await this.#idleShards.list(0);
    if (shardIds === null) return;
    for (const shardId of shardIds) known.add(shardId);
    const unknown = after.find(({ shardId }) => !known.has(shardId));
    if (unknown !== undefined) refuseShard(unknown.shardId, [...known].sort());
  }

  /** Which of the runs and packs that are not there are lost: those that HEADs still list, and at last all. */
  async #lostBlobs(attempt: number, next: SnapshotToken | null): Promise<RunReading['isLost']> {
    if (next === null) return () => attempt >= ATTEMPTS_MAX;
    const listed = new Set<string>();
    for (const { head, checkpoint } of await this.#snapshots.newestSlices()) {
      const { runs } = checkpoint.manifest;
      for (const blob of [...runs, ...packsOf(checkpoint.manifest)]) {
        listed.add(blobKey(head.sliceId, blob));
      }
    }
    return (sliceId, blob) => listed.has(blobKey(sliceId, blob));
  }

  async #snapshot(request: ViewRequest): Promise<Snapshot> {
    const { next, order } = request;
    if (next === null) return this.#snapshots.newest(request);
    const pinned = await this.#snapshots.pinned(next, order !== null);
    if (pinned === null) throw notKept();
    return pinned;
  }

  #inTurn<T>(run: () => Promise<T>): Promise<Asked<T>> {
    const turn = this.#last.then(() => guarded(run));
    this.#last = turn.catch(() => {});
    return turn;
  }
}

function judgeToken(token: SnapshotToken, request: ViewRequest, nowMs: number): void {
  if (token.questionHash !== request.questionHash) {
    refuse('next-of-another-question', 'next goes on with another question than this one.', {
      path: 'next',
      expected: 'the view and the parameters that it was answered to; limit and after may differ',
      found: 'another view or other parameters',
    });
  }
  if (!mayHavePassed(token.issuedMs, SNAPSHOT_AGE_MS_MAX, nowMs)) return;
  const minutes = SNAPSHOT_AGE_MS_MAX / 60_000;
  throw new Refused(gone(`next is good for ${minutes} minutes: ask again without it.`, 'next'));
}

const SHARDS_NAMED_MAX = 20;

function refuseShard(shardId: string, known: readonly string[]): never {
  const named = known.slice(0, SHARDS_NAMED_MAX).join(', ');
  const more = known.length - SHARDS_NAMED_MAX;
  const shards = more > 0 ? `${named} and ${more} more` : named;
  refuse('no-such-shard', `The stream has no shard '${shardId}'${didYouMean(shardId, known)}`, {
    path: 'after',
    expected: shards === '' ? 'a shard of the stream, which lists none' : shards,
    found: shardId,
  });
}

function notKept(): Refused {
  return new Refused(
    gone('What next goes on with is no longer kept: ask again without it.', 'next'),
  );
}
