/**
 * A reader: asks through the query handler for whole views page by page, for the status and for the quarantine, with the warm
 * images and caches that a query environment has. Each answer is checked against the HEADs that came to it meanwhile.
 */
import { type Head, parseHead } from '../core/checkpoint/head.ts';
import type { Plan } from '../core/definition/plan.ts';
import type { CheckpointStore, HeadItem } from '../core/ports.ts';
import { comparePositions, type Position } from '../core/position.ts';
import type { QuarantineList } from '../core/query/quarantine-list.ts';
import { Queries } from '../core/query/queries.ts';
import type { PipelineStatus } from '../core/query/status.ts';
import type { ViewAnswer } from '../core/query/view-answer.ts';
import { totalRecords } from '../core/state/counters.ts';
import type { TaskPorts } from '../core/task/slice-task.ts';
import { createQueryHandler, type QueryHandler } from '../functions/query/handler.ts';
import type { Auditor, Report } from './auditor.ts';
import type { Connection, Wire } from './connection.ts';
import type { Random } from './random.ts';
import { combinationsOf, differenceOfAnswer, waitingOf } from './reader-check.ts';
import { recordId } from './recount.ts';
import type { SimStream } from './sim-stream.ts';

export interface ReaderDeps {
  /** The active one now. */
  readonly activePlan: () => Plan;
  readonly wire: Wire;
  readonly stream: SimStream;
  readonly auditor: Auditor;
  readonly random: Random;
  /** Retention keeps what a question needs for this long; one that takes longer may find blobs gone. */
  readonly keptMs: number;
  /** Something stored is damaged: until it is found and recovered from, there may be no answer. */
  readonly isDamaged: () => boolean;
  readonly report: Report;
  /** False: it asks the same, and takes the answers as they are. */
  readonly checks: boolean;
}

const PAGE_ROWS = [2, 7, 50, 1_000, 1_000];
const ALL = 1_000;
/** A person looks at a page before asking for the next. */
const THINKING_RATE = 0.2;
const PEEKING_RATE = 0.3;
const THINKING_MS_MAX = 20_000;

export class Reader {
  readonly #deps: ReaderDeps;
  readonly #connection: Connection;
  readonly #ports: TaskPorts;
  #plan: Plan;
  #ask: QueryHandler;
  /** HEADs that came while the question at hand was asked. */
  readonly #seen = new Map<string, Head[]>();
  /** By slice: what the last status said. */
  readonly #cursors = new Map<string, { readonly timeline: number; readonly cursor: Position }>();
  #answers = 0;
  /** When the first page of the question at hand was asked for. */
  #askedMs = 0;
  /** Garbled answers until a question failed for the last time. */
  #garbledBefore = 0;

  constructor(deps: ReaderDeps, connection: Connection, ports: TaskPorts) {
    this.#deps = deps;
    this.#connection = connection;
    this.#ports = { ...ports, heads: this.#observed(ports.heads) };
    this.#plan = deps.activePlan();
    this.#ask = createQueryHandler(new Queries(this.#plan, this.#ports));
  }

  get plan(): Plan {
    return this.#plan;
  }

  /** The query function was deployed anew. */
  adopt(plan: Plan): void {
    if (plan === this.#plan) return;
    this.#plan = plan;
    this.#ask = createQueryHandler(new Queries(plan, this.#ports));
  }

  /** Answers that were checked. */
  get answerCount(): number {
    return this.#answers;
  }

  /** Asks on and on, with so much time between two questions on average. */
  async run(everyMs: number): Promise<never> {
    const { random, wire, activePlan } = this.#deps;
    for (;;) {
      await wire.time.sleep(1 + random.below(2 * everyMs));
      this.adopt(activePlan());
      const kind = random.below(10);
      if (kind === 0) await this.askStatus();
      else if (kind === 1) await this.askQuarantine();
      else await this.askView(random.pick(this.#plan.views).name, random.pick(PAGE_ROWS));
    }
  }

  /** The whole view; false if the question got no answer. */
  async askView(name: string, limit: number): Promise<boolean> {
    const { auditor, random, wire } = this.#deps;
    const plan = this.#plan;
    const view = plan.views.find((each) => each.name === name) as Plan['views'][number];
    const order = random.chance(0.2) ? this.#drawOrder(view) : null;
    const question = new URLSearchParams({ limit: String(limit) });
    if (order !== null) question.set('order', order);
    this.#seen.clear();
    const pages: ViewAnswer[] = [];
    for (;;) {
      const page = await this.#get<ViewAnswer>(`/v1/views/${name}`, question, pages.length === 0);
      if (page === null) return false;
      pages.push(page);
      if (page.next === null) break;
      question.set('next', page.next);
      if (random.chance(THINKING_RATE)) await wire.time.sleep(random.below(THINKING_MS_MAX));
      if (random.chance(PEEKING_RATE)) await this.#peek(name);
    }
    this.#answers++;
    if (!this.#deps.checks) return true;
    const combinations = combinationsOf(this.#seen);
    const difference = differenceOfAnswer(plan, view, pages, combinations, auditor);
    if (difference !== null) this.#wrong(`${name}: ${difference}`);
    return true;
  }

  /** Somebody else asks between two pages: the warm images move on. */
  async #peek(name: string): Promise<void> {
    this.#isPinned = true;
    await this.#ask({
      rawPath: `/v1/views/${name}`,
      rawQueryString: 'limit=1',
      requestContext: { http: { method: 'GET' } },
    });
    this.#isPinned = false;
  }

  async askStatus(): Promise<PipelineStatus | null> {
    const status = await this.#get<PipelineStatus>('/v1/status', new URLSearchParams(), true);
    if (status === null) return null;
    this.#answers++;
    if (!this.#deps.checks) return status;
    for (const { id, shardId, timeline, epoch, cursor, records } of status.slices) {
      const position = { sequenceNumber: cursor, subSequence: 0 };
      const named = { sliceId: id, shardId, timeline, epoch, cursor: position };
      const { counts } = this.#deps.auditor.recountOfEpoch(named);
      if (records !== totalRecords(counts)) {
        this.#wrong(`status of ${id}: ${records} records, expected ${totalRecords(counts)}`);
      }
      const before = this.#cursors.get(id);
      const isSameTimeline = before !== undefined && before.timeline === timeline;
      if (isSameTimeline && comparePositions(position, before.cursor) < 0) {
        this.#wrong(`status of ${id} went back to ${cursor}`);
      }
      this.#cursors.set(id, { timeline, cursor: position });
    }
    return status;
  }

  async askQuarantine(): Promise<boolean> {
    this.#seen.clear();
    const question = new URLSearchParams({ limit: String(ALL) });
    const list = await this.#get<QuarantineList>('/v1/quarantine', question, true);
    if (list === null) return false;
    this.#answers++;
    if (!this.#deps.checks) return true;
    const found = new Map<string, string>();
    for (const record of list.records) {
      const id = `${record.shardId} ${recordId(record)}`;
      if (found.has(id)) this.#wrong(`quarantine: ${id} twice`);
      found.set(id, record.reason);
      this.#checkBytes(record);
    }
    const fits = combinationsOf(this.#seen).some((epochs) => {
      const expected = waitingOf(epochs, this.#deps.auditor);
      const isThere = [...expected].every(([id, why]) => found.get(id) === why);
      // Where a ledger cannot be read, what came back may be listed too.
      return isThere && (found.size === expected.size || list.damaged !== undefined);
    });
    if (!fits) this.#wrong(`quarantine: ${[...found]} are those of no epochs it saw`);
    return true;
  }

  #checkBytes({ shardId, data, ...record }: QuarantineList['records'][number]): void {
    const { log } = this.#deps.stream.shard(shardId);
    const original = log.find((each) => recordId(each) === recordId(record));
    const bytes = Buffer.from(original?.data ?? []).toString('base64');
    if (bytes !== data)
      this.#wrong(`quarantine: ${recordId(record)} has other bytes than its producer sent`);
  }

  #wrong(detail: string): void {
    this.#deps.report('wrong answer', `${this.#connection.actor} ${detail}`);
  }

  #drawOrder(view: Plan['views'][number]): string | null {
    const plain = view.aggregates.filter(({ kind }) => kind !== 'quantile');
    if (plain.length === 0) return null;
    const { name } = this.#deps.random.pick(plain);
    return this.#deps.random.chance(0.5) ? name : `-${name}`;
  }

  async #get<T>(path: string, question: URLSearchParams, isFirst: boolean): Promise<T | null> {
    const { wire } = this.#deps;
    if (isFirst) this.#askedMs = wire.time.nowMs;
    else this.#isPinned = true;
    const { statusCode, body } = await this.#ask({
      rawPath: path,
      rawQueryString: question.toString(),
      requestContext: { http: { method: 'GET' } },
    });
    this.#isPinned = false;
    wire.trace.add(this.#connection.actor, 'asked', path, String(statusCode));
    if (statusCode === 200) return JSON.parse(body) as T;
    // How old a `next` may be is judged by the clock, which may jump.
    const isExcused =
      statusCode === 503 ||
      (statusCode === 410 && (this.#deps.isDamaged() || body.includes('is good for'))) ||
      (statusCode === 500 && (this.#sawGarbled() || this.#deps.isDamaged())) ||
      wire.time.nowMs - this.#askedMs > this.#deps.keptMs;
    if (!isExcused) {
      this.#deps.report('unexpected problem', `${this.#connection.actor} ${path}: ${body}`);
    }
    return null;
  }

  /** What came garbled after its question had failed may lie in a cache, and is found out much later. */
  #sawGarbled(): boolean {
    const { garbledCount } = this.#connection;
    const saw = garbledCount > this.#garbledBefore;
    this.#garbledBefore = garbledCount;
    return saw;
  }

  /** The pages after the first are of the epochs of the first: HEADs that come then say nothing. */
  #isPinned = false;

  #observed(heads: CheckpointStore): CheckpointStore {
    const note = (item: HeadItem | null) => {
      if (item === null || this.#isPinned) return;
      const head = parseHead(item);
      const known = this.#seen.get(head.sliceId) ?? [];
      if (!known.some(({ revision }) => revision === head.revision)) known.push(head);
      this.#seen.set(head.sliceId, known);
    };
    return {
      createHead: (item) => heads.createHead(item),
      writeHead: (item, ifRevision) => heads.writeHead(item, ifRevision),
      readHead: async (sliceId) => {
        const item = await heads.readHead(sliceId);
        note(item);
        return item;
      },
      listHeads: async () => {
        const items = await heads.listHeads();
        for (const item of items) note(item);
        return items;
      },
    };
  }
}
