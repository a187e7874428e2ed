/**
 * A reader: asks through the query handler for whole views page by page, for the status and for the quarantine, with the warm
 * images and caches that a query environment has. Each answer is checked against the HEADs that came to it meanwhile.
 */
import { type Head, parseHead } from '../core/checkpoint/head.ts';
import type { Plan, ViewPlan } from '../core/definition/plan.ts';
import type { CheckpointStore, HeadItem } from '../core/ports.ts';
import { comparePositions, type Position } from '../core/position.ts';
import type { QuarantineList } from '../core/query/quarantine-list.ts';
import { Queries } from '../core/query/queries.ts';
import type { Seeking } from '../core/query/snapshots.ts';
import type { PipelineStatus } from '../core/query/status.ts';
import type { ViewAnswer } from '../core/query/view-answer.ts';
import { totalRecords } from '../core/state/counters.ts';
import type { TaskPorts } from '../core/task/slice-task.ts';
import { createQueryHandler, type QueryHandler } from '../functions/query/handler.ts';
import type { Auditor, Report } from './auditor.ts';
import type { Connection, Wire } from './connection.ts';
import { drawQuestion, EVERYTHING, type Question } from './question.ts';
import type { Random } from './random.ts';
import { combinationsOf, differenceOfAnswer, waitingOf } from './reader-check.ts';
import { recordId } from './recount.ts';
import { hexOf } from './recount-digest.ts';
import { calendarOf, windowAt } from './recount-time.ts';
import type { SimStream } from './sim-stream.ts';

export interface ReaderDeps {
  /** The active one now. */
  readonly activePlan: () => Plan;
  readonly wire: Wire;
  readonly stream: SimStream;
  readonly auditor: Auditor;
  readonly random: Random;
  readonly nowMs: () => number;
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
  readonly #seeking: Seeking;
  #plan: Plan;
  #ask: QueryHandler;
  /** HEADs that came while the question at hand was asked. */
  readonly #seen = new Map<string, Head[]>();
  /** By slice: what the last status said. */
  readonly #cursors = new Map<string, { readonly timeline: number; readonly cursor: Position }>();
  #answers = 0;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();
  #wasToldOfDamage = false;
  /** When the first page of the question at hand was asked for. */
  #askedMs = 0;
  /** Garbled answers until a question failed for the last time. */
  #garbledBefore = 0;

  constructor(deps: ReaderDeps, connection: Connection, ports: TaskPorts) {
    this.#deps = deps;
    this.#connection = connection;
    this.#ports = { ...ports, heads: this.#observed(ports.heads) };
    this.#plan = deps.activePlan();
    // States are small: by bytes, hardly any question would seek.
    this.#seeking = deps.random.fork('seeking').chance(0.5) ? 'always' : 'never';
    this.#ask = this.#handler();
  }

  /** The query function was deployed anew. */
  adopt(plan: Plan): void {
    if (plan === this.#plan) return;
    this.#plan = plan;
    this.#ask = this.#handler();
  }

  #handler(): QueryHandler {
    const ports = { ...this.#ports, seeking: this.#seeking };
    return createQueryHandler(new Queries(this.#plan, ports));
  }

  /** One of the views, at random. */
  pick(views: readonly ViewPlan[]): ViewPlan {
    return this.#deps.random.pick(views);
  }

  /** Answers that were checked. */
  get answerCount(): number {
    return this.#answers;
  }

  /** Asks until it is stopped, with so much time between two questions on average. */
  run(everyMs: number): Promise<void> {
    this.#running = this.#run(everyMs);
    return this.#running;
  }

  async #run(everyMs: number): Promise<void> {
    const { random, wire, stream, nowMs, activePlan } = this.#deps;
    while (!this.#isStopped) {
      await wire.time.sleep(1 + random.below(2 * everyMs));
      this.adopt(activePlan());
      const kind = random.below(10);
      if (kind === 0) await this.askStatus();
      else if (kind === 1) await this.askQuarantine();
      else {
        const view = random.pick(this.#plan.views);
        const question = drawQuestion(view, stream, nowMs(), random);
        await this.askView(view, random.pick(PAGE_ROWS), question);
      }
    }
  }

  /** Asks nothing more by itself; resolves when it has done with the question at hand. */
  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#running;
  }

  /** All that `asked` selects of a view; false if the question got no answer. */
  async askView(view: ViewPlan, limit: number, asked: Question = EVERYTHING): Promise<boolean> {
    return (await this.#askPages(view, limit, asked)) !== null;
  }

  async #askPages(view: ViewPlan, limit: number, asked: Question): Promise<ViewAnswer[] | null> {
    const { auditor, random, wire, stream } = this.#deps;
    const plan = this.#plan;
    const { name } = view;
    const order = random.chance(0.2) ? this.#drawOrder(view) : null;
    const question = new URLSearchParams({ limit: String(limit) });
    if (order !== null) question.set('order', order);
    for (const [parameter, value] of asked.parameters) question.append(parameter, value);
    const standing = stream.shards.map((shard) => ({ shard, records: shard.log.length }));
    this.#seen.clear();
    const pages: ViewAnswer[] = [];
    for (;;) {
      const page = await this.#get<ViewAnswer>(`/v1/views/${name}`, question, pages.length === 0);
      if (page === null) return null;
      pages.push(page);
      if (page.next === null) break;
      question.set('next', page.next);
      if (random.chance(THINKING_RATE)) await wire.time.sleep(random.below(THINKING_MS_MAX));
      if (random.chance(PEEKING_RATE)) await this.#peek(name);
    }
    this.#answers++;
    if (!this.#deps.checks) return pages;
    const answered = { plan, view, question: asked, pages, standing };
    const difference = differenceOfAnswer(answered, combinationsOf(this.#seen), auditor);
    if (difference !== null) this.#wrong(`${name} ${question}: ${difference}`);
    return pages;
  }

  /**
   * Once nothing goes wrong any more and every record is in: the whole view, and what of it has closed; false if there was no
   * answer. `isWhole`: no records are lost, so that answers must say that they are complete, as far as their question can
   * have such an answer.
   */
  async askLast(view: ViewPlan, isWhole: boolean): Promise<boolean> {
    const { isDamaged, random, checks, report } = this.#deps;
    const closed = this.#closedPart(view);
    const pages = await this.#askPages(view, random.pick(PAGE_ROWS), closed ?? EVERYTHING);
    if (pages === null) return false;
    // Before anything else is asked: what waited may be folded then.
    const mayBeLess = this.#sawUnfolded() || this.#beganLater(view);
    // What is asked without `end` is a question of its own where there are windows.
    if (view.window.kind !== 'all' && !(await this.askView(view, ALL))) return false;
    if (!checks || isDamaged()) return true;
    const named = pages.find(({ damaged }) => damaged !== undefined)?.damaged;
    if (named !== undefined) {
      // What came garbled once may lie in a cache: until it is found out.
      if (this.#wasToldOfDamage) report('sound runs are called damaged', JSON.stringify(named));
      this.#wasToldOfDamage = true;
      return false;
    }
    this.#wasToldOfDamage = false;
    const isLess = pages
      .flatMap(({ incomplete = [] }) => incomplete)
      .some((reason) => reason !== 'no-windows');
    if (isWhole && closed !== null && isLess && !mayBeLess) {
      report('an answer is not complete', `${this.#connection.actor} ${view.name}`);
    }
    return true;
  }

  /** The windows before the one that the lowest watermark lies in; null if that is not known. */
  #closedPart(view: ViewPlan): Question | null {
    const { auditor, stream } = this.#deps;
    const heads = stream.shards.flatMap(({ id }) => auditor.head(id) ?? []);
    const known = heads.filter(({ digest }) => digest.count > 0).map((head) => head.watermarkMs);
    const lowestMs = Math.min(...known);
    if (view.window.kind === 'all') return EVERYTHING;
    if (!Number.isFinite(lowestMs)) return null;
    const { startMs: endMs } = windowAt(view.window, calendarOf(this.#plan.zone), lowestMs);
    return {
      ...EVERYTHING,
      parameters: [['end', new Date(endMs).toISOString()]],
      selects: ({ windowStartMs }) => windowStartMs === null || windowStartMs < endMs,
      endMs,
    };
  }

  /** A shard had got its first records, sent again after a redrive, and no checkpoint held one of them yet. */
  #sawUnfolded(): boolean {
    return this.#deps.stream.shards.some(({ id, log }) => {
      const seen = [...this.#seen.values()].flat().filter(({ shardId }) => shardId === id);
      return log.length > 0 && !seen.some(({ digest }) => digest.count > 0);
    });
  }

  /** A slice has the view since a change of plan only. */
  #beganLater({ name }: ViewPlan): boolean {
    const { auditor, stream } = this.#deps;
    return stream.shards.some(({ id }) => {
      const head = auditor.head(id);
      if (head === null || head.digest.count === 0) return false;
      const seen = auditor.recountAt(head).seenBy(this.#plan).get(name);
      return seen === undefined || seen.wholeFromMs.some((ms) => ms > Number.NEGATIVE_INFINITY);
    });
  }

  /** Another reader asks between two pages: the warm images move on. */
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
    this.#checkDigest(status);
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

  /** All slices together have read exactly what their shards' logs hold up to their cursors. */
  #checkDigest({ slices, digest, kinesisRecords }: PipelineStatus): void {
    const parts = slices.map(({ shardId, cursor }) =>
      this.#deps.auditor.digestAt(shardId, { sequenceNumber: cursor, subSequence: 0 }),
    );
    const count = parts.reduce((all, part) => all + part.count, 0);
    const sum = hexOf(parts.reduce((all, part) => all + BigInt(`0x${part.sum}`), 0n));
    if (digest === sum && kinesisRecords === count) return;
    this.#wrong(`status: digest ${digest} of ${kinesisRecords}, expected ${sum} of ${count}`);
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
      (statusCode === 410 && body.includes('is good for')) ||
      // What comes garbled twice is as good as gone.
      ([410, 500].includes(statusCode) && (this.#sawGarbled() || this.#deps.isDamaged())) ||
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
      writeHead: (item, ifRevision, passing) => heads.writeHead(item, ifRevision, passing),
      holdHead: (sliceId, hold, instead) => heads.holdHead(sliceId, hold, instead),
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
