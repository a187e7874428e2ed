import { describe, expect, it } from 'vitest';
import * as frontDoor from '../../../../core/definition/index.ts';
import {
  createWindowAssigner,
  WINDOW_PROPERTIES_LATER,
  WINDOWS,
  type WindowPlan,
  windowOf,
  windowSpan,
} from '../../../../core/definition/kinds/window-kinds.ts';
import { parsePlan } from '../../../../core/definition/parse-plan.ts';
import type { Plan, ViewPlan } from '../../../../core/definition/plan.ts';
import { planToJson } from '../../../../core/definition/plan-json.ts';
import { viewFates } from '../../../../core/definition/view-fate.ts';
import { parseViewRequest } from '../../../../core/query/view-request.ts';
import { Random } from '../../../../simulation/random.ts';
import { runPipeline } from '../../../../testing/index.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Its clocks change. */
const ZONE = 'Europe/Berlin';

/** Windows of each kind: those that differ in any way that matters. */
const SAMPLES: Readonly<Record<WindowPlan['kind'], readonly WindowPlan[]>> = {
  all: [{ kind: 'all' }],
  tumbling: [
    { kind: 'tumbling', sizeMs: HOUR_MS, days: 0 },
    { kind: 'tumbling', sizeMs: DAY_MS, days: 0 },
    { kind: 'tumbling', sizeMs: DAY_MS, days: 1 },
    { kind: 'tumbling', sizeMs: 7 * DAY_MS, days: 7 },
  ],
};
const CASES = WINDOWS.flatMap(({ kind }) => SAMPLES[kind]);

interface Given {
  readonly zone?: string;
  readonly field?: string;
}

function jsonOf(window: object | undefined, { zone = ZONE, field }: Given = {}) {
  const aggregates = { n: { count: '*' } };
  const time = field === undefined ? { zone } : { zone, field, skew: 'none' };
  return { name: 'p', time, views: { v: { window, aggregates } } };
}

function planOf(window: object | undefined, given: Given = {}): Plan {
  const parsed = parsePlan(jsonOf(window, given));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

function viewOf(plan: Plan): ViewPlan {
  return plan.views[0] as ViewPlan;
}

it('the kinds of windows have names and properties of their own', () => {
  const properties = WINDOWS.flatMap(({ properties }): readonly string[] => properties);
  const names = [...properties, ...WINDOW_PROPERTIES_LATER];
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(WINDOWS.map(({ kind }) => kind)).size).toBe(WINDOWS.length);
  const withoutWindow = WINDOWS.filter(({ properties }) => properties.length === 0);
  expect(withoutWindow.map(({ kind }) => kind)).toEqual([viewOf(planOf(undefined)).window.kind]);
});

describe.each(CASES)('%j', (window) => {
  const descriptor = windowOf(window);
  const json = descriptor.toJson(window);
  const span = windowSpan(window);

  it('is built by a function of its name at the front door', () => {
    const [name] = descriptor.properties;
    if (name === undefined) return expect(json).toBeUndefined();
    const build = (frontDoor as unknown as Record<string, (...given: unknown[]) => object>)[name];
    expect(build?.(...Object.values(json ?? {}))).toStrictEqual(json);
  });

  it('goes to a plan and back', () => {
    const plan = planOf(json);
    expect(viewOf(plan).window).toStrictEqual(window);
    expect(planToJson(plan).views['v']?.window).toStrictEqual(json);
    expect(Object.keys(json ?? {})).toEqual(descriptor.properties);
  });

  it('refuses the properties of other kinds beside its own', () => {
    if (json === undefined) return;
    for (const name of ['more', ...WINDOW_PROPERTIES_LATER]) {
      expect(parsePlan(jsonOf({ ...json, [name]: '1h' })).ok).toBe(false);
    }
  });

  it('changes the hash of its view', () => {
    for (const other of CASES.filter((each) => each !== window)) {
      const changed = planOf(windowOf(other).toJson(other));
      expect(viewOf(changed).hash).not.toBe(viewOf(planOf(json)).hash);
    }
  });

  it('makes the zone and the time part of what an entry stands for where they cut it', () => {
    const hashOf = (given: Given) => viewOf(planOf(json, given)).hash;
    expect(hashOf({ zone: 'UTC' }) !== hashOf({})).toBe((span?.days ?? 0) > 0);
    expect(hashOf({ field: 'at' }) !== hashOf({})).toBe(span !== null);
    const [before, after] = [planOf(json), planOf(json, { field: 'at' })];
    const neverWhole = viewFates(before, after, false).some((fate) => fate.neverWhole === true);
    expect(neverWhole).toBe(span !== null);
  });

  it('can have late records and be asked for by time if it ends, and only then', () => {
    const plan = planOf(json);
    expect(parseViewRequest(plan, 'v', [['start', '2026-01-01']]).ok).toBe(span !== null);
    const { views, ...rest } = jsonOf(json);
    const late = parsePlan({ ...rest, views: { v: { ...views.v, late: 'drop' } } });
    expect(late.ok).toBe(span !== null);
    expect(descriptor.describe(window)).not.toBe('');
  });

  it('has windows that hold what falls into them, and last as long as it says', () => {
    const assigner = createWindowAssigner(window, ZONE);
    const random = new Random('instants');
    for (let round = 0; round < 200; round++) {
      const timeMs = random.below(20_000) * DAY_MS + random.below(DAY_MS);
      const startMs = assigner.startOf(timeMs);
      const endMs = assigner.endOf(startMs);
      expect(assigner.startOf(startMs)).toBe(startMs);
      if (span === null) {
        expect(endMs).toBe(Number.POSITIVE_INFINITY);
        continue;
      }
      expect(startMs <= timeMs && timeMs < endMs).toBe(true);
      const shifts = span.days > 0 ? [-HOUR_MS, 0, HOUR_MS] : [0];
      expect(shifts.map((shiftMs) => span.lengthMs + shiftMs)).toContain(endMs - startMs);
    }
  });

  it('depends on the order of records as its descriptor says', async () => {
    const rowsOf = async (lateness: string, records: readonly object[]) => {
      const pipeline = jsonOf(json, { field: 'at' });
      const late = span === null ? {} : { late: 'drop' };
      const time = { ...pipeline.time, lateness };
      const parsed = parsePlan({
        ...pipeline,
        time,
        views: { v: { ...pipeline.views.v, ...late } },
      });
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
      const { views } = await runPipeline(parsed.plan, records);
      return views['v']?.map(({ window: place, values }) => [place, values]);
    };
    const random = new Random('records');
    const records = Array.from({ length: 60 }, () => ({
      at: new Date(Date.UTC(2026, 0, 1) + random.below(60 * DAY_MS)).toISOString(),
    }));
    const sorted = [...records].sort((a, b) => (a.at < b.at ? -1 : 1));
    const isSame = async (lateness: string) => {
      const [one, other] = [await rowsOf(lateness, records), await rowsOf(lateness, sorted)];
      expect(one?.length).toBeGreaterThan(0);
      return JSON.stringify(one) === JSON.stringify(other);
    };
    const outcome = [await isSame('0s'), await isSame('365d')];
    expect(outcome).toEqual(EXPECTED[descriptor.foldOrder]);
  });
});

/** Whether the order changes nothing: where windows close between records, and where none does. */
const EXPECTED = {
  'any-order': [true, true],
  watermark: [false, true],
  serial: [false, false],
};
