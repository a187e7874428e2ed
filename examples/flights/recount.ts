/**
 * The answers of the flights pipeline, counted straight from the rows: plain maps, exact sums of integers, and quantiles
 * by rank. Shares no code with Tidemark.
 */
import type { Flight } from './flight-rows.ts';

const DAY_MS = 86_400_000;
/** What a DDSketch of 1 % relative accuracy may be off by. */
const ACCURACY = 0.01;

interface Group {
  flights: number;
  total: number;
  best: number;
  worst: number;
  miles: number;
  /** How often each delay occurred. */
  delays: Map<number, number>;
}

export type RowKey = Readonly<Record<string, string>>;
export type RowValues = Readonly<Record<string, unknown>>;

export class Recount {
  readonly #byOrigin = new Map<string, Group>();
  readonly #byRoute = new Map<string, Group>();
  readonly #byDay = new Map<string, Group>();
  count = 0;

  add(flight: Flight): void {
    const { origin, destination, date } = flight;
    this.count++;
    addTo(this.#byOrigin, origin, flight, true);
    addTo(this.#byRoute, `${origin} ${destination}`, flight, false);
    addTo(this.#byDay, `${origin} ${Math.floor(date / DAY_MS) * DAY_MS}`, flight, false);
  }

  groupCount(view: string): number {
    return this.#groups(view).size;
  }

  /** Null if the row is right, otherwise what is wrong with it. */
  disagreement(
    view: string,
    key: RowKey,
    windowStart: string | null,
    values: RowValues,
  ): string | null {
    const start = windowStart === null ? [] : [Date.parse(windowStart)];
    const name = [...Object.values(key), ...start].join(' ');
    const group = this.#groups(view).get(name);
    if (group === undefined) return `${view} ${name}: there is no such group`;
    for (const [aggregate, value] of Object.entries(values)) {
      if (isRight(aggregate, value, group)) continue;
      return `${view} ${name}: ${aggregate} is ${JSON.stringify(value)}, counted ${JSON.stringify(expected(aggregate, group))}`;
    }
    return null;
  }

  #groups(view: string): Map<string, Group> {
    if (view === 'delay_by_origin') return this.#byOrigin;
    return view === 'routes' ? this.#byRoute : this.#byDay;
  }
}

function addTo(
  groups: Map<string, Group>,
  name: string,
  flight: Flight,
  withDelays: boolean,
): void {
  const { delay, distance } = flight;
  let group = groups.get(name);
  if (group === undefined) {
    group = { flights: 0, total: 0, best: delay, worst: delay, miles: distance, delays: new Map() };
    groups.set(name, group);
  }
  group.flights++;
  group.total += delay;
  group.best = Math.min(group.best, delay);
  group.worst = Math.max(group.worst, delay);
  group.miles = Math.max(group.miles, distance);
  if (withDelays) group.delays.set(delay, (group.delays.get(delay) ?? 0) + 1);
}

function isRight(aggregate: string, value: unknown, group: Group): boolean {
  if (aggregate !== 'typical') return value === expected(aggregate, group);
  return Object.entries(value as Record<string, number>).every(([rank, found]) => {
    const exact = atRank(group, Number(rank));
    return Math.abs(found - exact) <= ACCURACY * Math.abs(exact) + 1e-9;
  });
}

function expected(aggregate: string, group: Group): unknown {
  if (aggregate === 'average') return group.total / group.flights;
  if (aggregate === 'typical') return { '0.5': atRank(group, 0.5), '0.99': atRank(group, 0.99) };
  return group[aggregate as 'flights' | 'total' | 'best' | 'worst' | 'miles'];
}

function atRank({ delays, flights }: Group, rank: number): number {
  let left = Math.floor(rank * (flights - 1));
  for (const delay of [...delays.keys()].sort((a, b) => a - b)) {
    left -= delays.get(delay) ?? 0;
    if (left < 0) return delay;
  }
  throw new Error('a group without flights');
}
