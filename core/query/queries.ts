/**
 * The reads of one pipeline. A query takes a snapshot, one epoch of each slice, and answers from exactly that; it says as
 * of which watermark, and whether anything is known to be missing. Queries of one instance run one after the other, since
 * the warm images move between them.
 */
import { type BlobStores, MissingBlob } from '../checkpoint/blobs.ts';
import { load } from '../checkpoint/restore.ts';
import type { AggregatePlan, Plan, ViewPlan } from '../definition/plan.ts';
import { planToJson } from '../definition/plan-json.ts';
import { SNAPSHOT_AGE_MS_MAX } from '../limits.ts';
import type { QuarantineIndex } from '../ports.ts';
import { compareSequenceNumbers } from '../position.ts';
import { createWindowAssigner, type WindowAssigner } from '../time/window.ts';
import { listQuarantine, parseQuarantineRequest, type QuarantineList } from './quarantine-list.ts';
import type { Asked, QueryProblem } from './query-problem.ts';
import { SliceReader, type SliceSnapshot } from './slice-reader.ts';
import { encodeToken, type SnapshotToken } from './snapshot-token.ts';
import {
  isoOf,
  type PipelineStatus,
  pipelineStatus,
  type StatusPorts,
  watermarkOf,
} from './status.ts';
import { type Parameters, parseViewRequest, type ViewRequest } from './view-request.ts';
import { type SlicePart, type ViewRow, viewRows } from './view-rows.ts';

export interface QueryPorts extends StatusPorts {
  readonly blobs: BlobStores;
  readonly quarantine: QuarantineIndex;
}

export interface AnswerRow {
  readonly key: Readonly<Record<string, unknown>>;
  readonly window: { readonly start: string; readonly end: string } | null;
  /** The watermark of every slice that had a record has passed the window's end. */
  readonly closed: boolean;
  /** Grows whenever the row may have changed. */
  readonly revision: number;
  readonly values: Readonly<Record<string, unknown>>;
  /** Aggregates whose value is not the exact result of the integers that were added. */
  readonly inexact?: readonly string[];
}

export interface ViewAnswer {
  readonly view: string;
  readonly watermark: string | null;
  /** Every row's window is closed, so is all that was asked for, every slice is open, and no record is known to be missing. */
  readonly complete: boolean;
  readonly gaps: readonly never[];
  /** False if the records of `after` are not in yet. */
  readonly reached: boolean;
  readonly rows: readonly AnswerRow[];
  readonly next: string | null;
}

interface Snapshot {
  readonly parts: readonly SlicePart[];
  readonly watermarkMs: number | null;
  readonly revision: number;
  readonly isOpen: boolean;
}

export class Queries {
  readonly #plan: Plan;
  readonly #ports: QueryPorts;
  readonly #readers = new Map<string, SliceReader>();
  /** The snapshot that a `next` asked for last: its following pages need not load it again. */
  #pinned: { readonly key: string; readonly snapshot: Snapshot } | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(plan: Plan, ports: QueryPorts) {
    this.#plan = plan;
    this.#ports = ports;
  }

  /** What the views are, as in the pipeline file with its defaults spelled out. */
  views(): { views: object[] } {
    const { views } = planToJson(this.#plan);
    return { views: Object.entries(views).map(([name, view]) => ({ name, ...view })) };
  }

  view(name: string, parameters: Parameters): Promise<Asked<ViewAnswer>> {
    const request = parseViewRequest(this.#plan, name, parameters);
    if (!request.ok) return Promise.resolve(request);
    return this.#inTurn(() => this.#answer(request.value));
  }

  status(): Promise<PipelineStatus> {
    return pipelineStatus(this.#plan, this.#ports);
  }

  quarantine(parameters: Parameters): Promise<Asked<QuarantineList>> {
    const request = parseQuarantineRequest(parameters);
    if (!request.ok) return Promise.resolve(request);
    return this.#inTurn(async () => {
      const snapshots = await this.#refresh();
      return {
        ok: true,
        value: await listQuarantine(request.value, snapshots, this.#ports.quarantine),
      };
    });
  }

  async #answer(request: ViewRequest): Promise<Asked<ViewAnswer>> {
    const { next } = request;
    if (next !== null) {
      const problem = refuseToken(next, request, this.#ports.clock.nowMs());
      if (problem !== null) return { ok: false, problem };
    }
    let snapshot: Snapshot;
    let reached = true;
    if (next === null) {
      const snapshots = await this.#refresh();
      reached = hasReached(request, snapshots);
      snapshot = snapshotOf(snapshots);
    } else {
      const pinned = await this.#pin(next);
      if (pinned === null) return { ok: false, problem: expired('is no longer kept') };
      snapshot = pinned;
    }
    const rows = await viewRows(request, snapshot.parts, this.#ports.blobs);
    return { ok: true, value: this.#page(request, snapshot, rows, reached) };
  }

  #page(
    request: ViewRequest,
    snapshot: Snapshot,
    rows: readonly ViewRow[],
    reached: boolean,
  ): ViewAnswer {
    const { view, limit, next, endMs } = request;
    const offset = next?.offset ?? 0;
    const windows = createWindowAssigner(view.window, this.#plan.zone);
    const page = rows
      .slice(offset, offset + limit)
      .map((row) => answerRow(view, row, windows, snapshot));
    const isWindowed = view.window.kind !== 'all';
    const watermarkMs = snapshot.watermarkMs ?? Number.NEGATIVE_INFINITY;
    const isClosed =
      !isWindowed || (page.every(({ closed }) => closed) && (endMs ?? watermarkMs) <= watermarkMs);
    const hasMore = offset + limit < rows.length;
    return {
      view: view.name,
      watermark: isoOf(snapshot.watermarkMs),
      complete: isClosed && snapshot.isOpen,
      gaps: [],
      reached,
      rows: page,
      next: hasMore ? encodeToken(this.#token(request, snapshot, offset + limit)) : null,
    };
  }

  #token(request: ViewRequest, snapshot: Snapshot, offset: number): SnapshotToken {
    const { next, questionHash } = request;
    return {
      issuedMs: next?.issuedMs ?? this.#ports.clock.nowMs(),
      offset,
      questionHash,
      slices: next?.slices ?? snapshot.parts.map(({ epoch }) => epoch),
    };
  }

  /** The newest epoch of every slice. */
  async #refresh(): Promise<SliceSnapshot[]> {
    const { heads, blobs } = this.#ports;
    const snapshots: SliceSnapshot[] = [];
    for (const { sliceId } of await heads.listHeads()) {
      let reader = this.#readers.get(sliceId);
      if (reader === undefined) {
        reader = new SliceReader(this.#plan, sliceId, heads, blobs);
        this.#readers.set(sliceId, reader);
      }
      const snapshot = await reader.refresh();
      if (snapshot !== null) snapshots.push(snapshot);
    }
    return snapshots;
  }

  /** The snapshot that a token names; null if retention has taken it. */
  async #pin(token: SnapshotToken): Promise<Snapshot | null> {
    const key = JSON.stringify(token.slices);
    if (this.#pinned?.key === key) return this.#pinned.snapshot;
    try {
      const parts = await Promise.all(
        token.slices.map(async (epoch) => ({
          sliceId: epoch.sliceId,
          epoch,
          checkpoint: await load(this.#plan, epoch, this.#ports.blobs),
        })),
      );
      const progress = parts.map(({ checkpoint }) => checkpoint.image.progress);
      const snapshot: Snapshot = {
        parts,
        watermarkMs: watermarkOf(progress),
        revision: token.slices.reduce((sum, { delta }) => sum + (delta?.epoch ?? 0), 0),
        isOpen: true,
      };
      this.#pinned = { key, snapshot };
      return snapshot;
    } catch (fault) {
      if (fault instanceof MissingBlob) return null;
      throw fault;
    }
  }

  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(run, run);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

function snapshotOf(snapshots: readonly SliceSnapshot[]): Snapshot {
  return {
    parts: snapshots.map(({ head, checkpoint }) => ({
      sliceId: head.sliceId,
      epoch: { sliceId: head.sliceId, base: head.base, delta: head.delta },
      checkpoint,
    })),
    watermarkMs: watermarkOf(snapshots.map(({ head }) => head)),
    revision: snapshots.reduce((sum, { head }) => sum + head.epoch, 0),
    isOpen: snapshots.every(({ head }) => head.status === 'OPEN' || head.status === 'SEALED'),
  };
}

function hasReached({ after }: ViewRequest, snapshots: readonly SliceSnapshot[]): boolean {
  return after.every(({ shardId, sequenceNumber }) => {
    const head = snapshots.find((snapshot) => snapshot.head.shardId === shardId)?.head;
    if (head === undefined) return false;
    return compareSequenceNumbers(head.cursor.sequenceNumber, sequenceNumber) >= 0;
  });
}

function refuseToken(
  token: SnapshotToken,
  request: ViewRequest,
  nowMs: number,
): QueryProblem | null {
  if (token.questionHash !== request.questionHash) {
    return {
      status: 400,
      title: 'Bad Request',
      code: 'next-of-another-question',
      detail: 'next goes with exactly the view and parameters that it was answered to.',
      path: 'next',
    };
  }
  return nowMs - token.issuedMs > SNAPSHOT_AGE_MS_MAX ? expired('has expired') : null;
}

function expired(why: string): QueryProblem {
  return {
    status: 410,
    title: 'Gone',
    code: 'snapshot-gone',
    detail: `The snapshot that next goes on with ${why}: ask again without it.`,
    path: 'next',
  };
}

function answerRow(
  view: ViewPlan,
  row: ViewRow,
  windows: WindowAssigner,
  snapshot: Snapshot,
): AnswerRow {
  const endMs = windows.endOf(row.windowStartMs);
  const isWindowed = view.window.kind !== 'all';
  const names = (index: number) => (view.aggregates[index] as AggregatePlan).name;
  const inexact = row.results.flatMap(({ exact }, index) => (exact ? [] : [names(index)]));
  return {
    key: Object.fromEntries(view.groupBy.map(({ name }, index) => [name, row.values[index]])),
    window: isWindowed
      ? { start: isoOf(row.windowStartMs) as string, end: isoOf(endMs) as string }
      : null,
    closed: isWindowed && snapshot.watermarkMs !== null && endMs <= snapshot.watermarkMs,
    revision: snapshot.revision,
    values: Object.fromEntries(row.results.map(({ value }, index) => [names(index), value])),
    ...(inexact.length === 0 ? {} : { inexact }),
  };
}
