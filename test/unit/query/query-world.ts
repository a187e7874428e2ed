/**
 * A pipeline of several shards whose slices are written by real tasks, and the queries over it. Late records are folded
 * (`update`), so what a view must show of any prefix of the shards is a plain grouping of their records.
 */
import { MemoryPorts, STREAM_ID, WHOLE_RANGE } from '../../../adapters/memory/memory-ports.ts';
import { Aggregator } from '../../../core/aggregator.ts';
import { headItem, parseHead } from '../../../core/checkpoint/head.ts';
import { firstHead } from '../../../core/checkpoint/transitions.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import type { Knobs } from '../../../core/knobs.ts';
import type { StreamRecord } from '../../../core/ports.ts';
import { Queries, type QueryPorts } from '../../../core/query/queries.ts';
import type { QueryProblem } from '../../../core/query/query-problem.ts';
import type { AnswerRow, ViewAnswer } from '../../../core/query/view-answer.ts';
import { sliceIdOf } from '../../../core/slice/topology.ts';
import type { DeliveryReport } from '../../../core/task/delivery-report.ts';

export const WINDOW_MS = 10_000;
export const LATENESS_MS = 5_000;

const aggregates = {
  flights: { count: '*' },
  total: { sum: 'delay' },
  worst: { max: 'delay' },
  typical: { quantile: 'delay', at: [0.5, 0.99] },
} as const;

export const plan: Plan = (() => {
  const parsed = parsePlan({
    name: 'flights',
    time: { field: 't', lateness: '5s', skew: 'none' },
    views: {
      by_origin: { groupBy: ['origin'], aggregates },
      by_route: { groupBy: ['origin', 'to'], window: { tumbling: '10s' }, aggregates },
      in_all: { aggregates },
    },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
})();

export interface Flight {
  readonly t: number;
  readonly origin: string | number | boolean | null;
  readonly to: string | number;
  readonly delay: number | null;
}

export function shardIdOf(index: number): string {
  return `shardId-${String(index).padStart(12, '0')}`;
}

export class QueryWorld {
  readonly ports: MemoryPorts;
  readonly queries: Queries;
  /** What each shard's slice holds, by shard. */
  readonly delivered = new Map<number, (Flight | string)[]>();
  #owners: Aggregator[];
  #deliveries = 0;

  constructor(knobs: Partial<Knobs> = {}, owners = 1) {
    this.ports = new MemoryPorts(1_000_000, { chainLengthMax: 3, runFanIn: 2, ...knobs });
    void this.ports.plans.activate({ ordinal: 1, hash: plan.hash, pipeline: '{}' });
    this.#owners = Array.from({ length: owners }, () => this.#newOwner());
    this.queries = this.newQueries();
  }

  get heads() {
    return this.ports.heads;
  }

  get clock() {
    return this.ports.clock;
  }

  get blobs() {
    return this.ports.blobs;
  }

  get quarantine() {
    return this.ports.quarantine;
  }

  get source() {
    return this.ports.source;
  }

  newQueries(ports: Partial<QueryPorts> = {}): Queries {
    const { heads, blobs, quarantine, source, shards, clock } = this.ports;
    return new Queries(plan, { heads, blobs, quarantine, source, shards, clock, ...ports });
  }

  /** Appends records to a shard and has an owner fold them; a text is the bytes of a bad record. */
  async deliver(shard: number, ...flights: readonly (Flight | string)[]): Promise<StreamRecord[]> {
    const known = this.delivered.get(shard) ?? [];
    this.delivered.set(shard, known);
    const records = flights.map((flight) => {
      known.push(flight);
      const record = this.#record(known.length, flight);
      this.source.append(shardIdOf(shard), record);
      return record;
    });
    const owner = this.#owners[this.#deliveries++ % this.#owners.length] as Aggregator;
    await owner.deliver(shardIdOf(shard), records, () => 60_000);
    return records;
  }

  /** Appends a record that nobody folds yet. */
  append(shard: number, flight: Flight): StreamRecord {
    const record = this.#record((this.delivered.get(shard)?.length ?? 0) + 1, flight);
    this.source.append(shardIdOf(shard), record);
    return record;
  }

  /** Gives a shard its slice, before any record. */
  async openSlice(shard: number): Promise<void> {
    const shardId = shardIdOf(shard);
    const identity = {
      sliceId: sliceIdOf(shardId),
      shardId,
      range: WHOLE_RANGE,
      streamId: STREAM_ID,
    };
    const nonce = this.ports.nonces.nonce();
    const planned = { planOrdinal: 0, planHash: plan.hash };
    await this.heads.createHead(headItem(firstHead({ ...identity, ...planned, nonce })));
  }

  async checkpoint(shard: number): Promise<DeliveryReport> {
    return (this.#owners[0] as Aggregator).checkpoint(shardIdOf(shard), () => 60_000);
  }

  /** All owners forget what they remember. */
  restart(): void {
    this.#owners = this.#owners.map(() => this.#newOwner());
  }

  async head(shard: number) {
    const item = await this.heads.readHead(sliceIdOf(shardIdOf(shard)));
    if (item === null) throw new Error(`shard ${shard} has no HEAD`);
    return parseHead(item);
  }

  /** All flights that slices hold. */
  flights(): Flight[] {
    return [...this.delivered.values()].flat().filter((flight) => typeof flight !== 'string');
  }

  #newOwner(): Aggregator {
    return new Aggregator(plan, createJsonDecoder(plan), this.ports);
  }

  #record(ordinal: number, flight: Flight | string): StreamRecord {
    const text = typeof flight === 'string' ? flight : JSON.stringify(flight);
    return {
      sequenceNumber: String(ordinal * 10),
      subSequence: 0,
      partitionKey: `p${ordinal}`,
      arrivalMs: this.clock.nowMs() - 1_000,
      data: new TextEncoder().encode(text),
    };
  }
}

type Asking = Readonly<Record<string, string | readonly string[]>>;

export function parametersOf(asking: Asking): [string, string][] {
  return Object.entries(asking).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((each): [string, string] => [name, each]),
  );
}

export async function answerOf(
  queries: Queries,
  view: string,
  asking: Asking = {},
): Promise<ViewAnswer> {
  const answer = await queries.view(view, parametersOf(asking));
  if (!answer.ok) throw new Error(JSON.stringify(answer.problem));
  return answer.value;
}

export async function problemOf(
  queries: Queries,
  view: string,
  asking: Asking = {},
): Promise<QueryProblem> {
  const answer = await queries.view(view, parametersOf(asking));
  if (answer.ok) throw new Error(`answered: ${JSON.stringify(answer.value)}`);
  return answer.problem;
}

/** All pages of a question; `between` runs before each page but the first. */
export async function pagesOf(
  queries: readonly Queries[],
  view: string,
  asking: Asking,
  between: () => Promise<void> = async () => {},
): Promise<ViewAnswer[]> {
  const pages: ViewAnswer[] = [];
  let next: string | null = null;
  do {
    if (next !== null) await between();
    const reader = queries[pages.length % queries.length] as Queries;
    const page: ViewAnswer = await answerOf(reader, view, {
      ...asking,
      ...(next === null ? {} : { next }),
    });
    pages.push(page);
    next = page.next;
    if (pages.length > 1_000) throw new Error('pages without end');
  } while (next !== null);
  return pages;
}

/** A row as the oracle knows it: what does not depend on epochs. */
export interface PlainRow {
  readonly key: Readonly<Record<string, unknown>>;
  readonly startMs: number | null;
  readonly flights: number;
  readonly total: number | null;
  readonly worst: number | null;
}

export function plainRow({ key, window, values }: AnswerRow): PlainRow {
  return {
    key,
    startMs: window === null ? null : Date.parse(window.start),
    flights: values['flights'] as number,
    total: values['total'] as number | null,
    worst: values['worst'] as number | null,
  };
}

/** The rows of a view by plain grouping, in the order of key and window. */
export function groupedRows(view: string, flights: readonly Flight[]): PlainRow[] {
  const groups = new Map<string, { row: PlainRow; place: unknown[] }>();
  for (const { t, origin, to, delay } of flights) {
    const startMs = view === 'by_route' ? Math.floor(t / WINDOW_MS) * WINDOW_MS : null;
    const key = view === 'by_route' ? { origin, to } : view === 'by_origin' ? { origin } : {};
    const place = [...Object.values(key), startMs];
    const id = JSON.stringify(place);
    const before = groups.get(id)?.row ?? { key, startMs, flights: 0, total: null, worst: null };
    const row = {
      ...before,
      flights: before.flights + 1,
      total: delay === null ? before.total : (before.total ?? 0) + delay,
      worst: delay === null ? before.worst : Math.max(before.worst ?? delay, delay),
    };
    groups.set(id, { row, place });
  }
  return [...groups.values()].sort((a, b) => comparePlaces(a.place, b.place)).map(({ row }) => row);
}

const TYPES = ['object', 'boolean', 'number', 'string'];

function comparePlaces(a: readonly unknown[], b: readonly unknown[]): number {
  for (const [index, left] of a.entries()) {
    const right = b[index];
    const byType = TYPES.indexOf(typeof left) - TYPES.indexOf(typeof right);
    if (byType !== 0) return byType;
    if (left === right) continue;
    return (left as number) < (right as number) ? -1 : 1;
  }
  return 0;
}
