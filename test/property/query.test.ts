import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnswerRow } from '../../core/query/view-answer.ts';
import {
  answerOf,
  type Flight,
  groupedRows,
  LATENESS_MS,
  plainRow,
  QueryWorld,
  WINDOW_MS,
} from '../unit/query/query-world.ts';

const VIEWS = ['by_origin', 'by_route', 'in_all'];

const flight = fc.record<Flight>({
  t: fc.nat(90_000),
  origin: fc.constantFrom('a', 'ab', 'b', '', 0, -1, 2.5, true, null),
  to: fc.constantFrom('x', 'y'),
  delay: fc.option(fc.integer({ min: -50, max: 50 })),
});
const shard = fc.nat(2);
const order = fc.constantFrom(null, 'flights', '-total', 'worst', '-typical.0.5');
const view = fc.constantFrom(...VIEWS);

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('deliver' as const),
      shard,
      flights: fc.array(flight, { minLength: 1, maxLength: 12 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('checkpoint' as const), shard }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('read' as const), view, order }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('begin' as const),
      view,
      order,
      limit: fc.integer({ min: 1, max: 9 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('continue' as const), elsewhere: fc.boolean() }),
  },
);

/** A question whose pages are read between the other steps. */
interface Paging {
  readonly view: string;
  readonly asked: Record<string, string>;
  readonly expected: readonly AnswerRow[];
  readonly rows: AnswerRow[];
  next: string | null;
}

describe('the rows of views', () => {
  it('are a plain grouping of what was delivered, at any moment and on every page', async () => {
    const worlds = fc.record({
      steps: fc.array(step, { minLength: 4, maxLength: 40 }),
      owners: fc.integer({ min: 1, max: 3 }),
      chainLengthMax: fc.integer({ min: 1, max: 4 }),
      runFanIn: fc.integer({ min: 2, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(worlds, async ({ steps, owners, ...knobs }) => {
        const world = new QueryWorld(knobs, owners);
        const other = world.newQueries();
        const paging: Paging[] = [];
        for (const each of steps) {
          switch (each.kind) {
            case 'deliver':
              await world.deliver(each.shard, ...each.flights);
              break;
            case 'checkpoint':
              if (world.delivered.has(each.shard)) await world.checkpoint(each.shard);
              break;
            case 'read':
              await readWhole(world, each.view, each.order);
              break;
            case 'begin': {
              const expected = await readWhole(world, each.view, each.order);
              const asked = {
                limit: String(each.limit),
                ...(each.order === null ? {} : { order: each.order }),
              };
              const first = await answerOf(world.queries, each.view, asked);
              paging.push({
                view: each.view,
                asked,
                expected,
                rows: [...first.rows],
                next: first.next,
              });
              break;
            }
            case 'continue': {
              const open = paging.find(({ next }) => next !== null);
              if (open === undefined) break;
              const queries = each.elsewhere ? other : world.queries;
              const asked = { ...open.asked, next: open.next as string };
              const page = await answerOf(queries, open.view, asked);
              open.rows.push(...page.rows);
              open.next = page.next;
              expect(page.rows.length).toBeGreaterThan(0);
              break;
            }
          }
        }
        for (const { rows, expected, next } of paging) {
          expect(rows).toEqual(next === null ? expected : expected.slice(0, rows.length));
        }
        for (const name of VIEWS) await readWhole(world, name, null);
      }),
      { numRuns: 150 },
    );
  });
});

/** All rows, checked against the records; in the order that was asked. */
async function readWhole(world: QueryWorld, view: string, order: string | null) {
  const asked = { limit: '10000', ...(order === null ? {} : { order }) };
  const answer = await answerOf(world.queries, view, asked);
  expect(answer.next).toBeNull();
  const expected = groupedRows(view, world.flights());
  const found = answer.rows.map(plainRow);
  if (order === null) expect(found).toEqual(expected);
  else {
    expect(found).toHaveLength(expected.length);
    expect(new Set(found.map((row) => JSON.stringify(row)))).toEqual(
      new Set(expected.map((row) => JSON.stringify(row))),
    );
  }
  const watermarkMs = lowestWatermark(world);
  expect(answer.watermark).toBe(watermarkMs === null ? null : new Date(watermarkMs).toISOString());
  for (const { window, closed } of answer.rows) {
    const endMs = window === null ? Number.POSITIVE_INFINITY : Date.parse(window.end);
    if (window !== null) expect(endMs - Date.parse(window.start)).toBe(WINDOW_MS);
    expect(closed).toBe(endMs <= (watermarkMs ?? Number.NEGATIVE_INFINITY));
  }
  return answer.rows;
}

function lowestWatermark(world: QueryWorld): number | null {
  const highest = [...world.delivered.values()].map((flights) =>
    Math.max(...flights.map((each) => (each as Flight).t)),
  );
  return highest.length === 0 ? null : Math.min(...highest) - LATENESS_MS;
}
