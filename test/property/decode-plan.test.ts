import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../core/definition/duration.ts';
import { parsePlan } from '../../core/definition/parse-plan.ts';
import type { Plan } from '../../core/definition/plan.ts';
import { describeDifference } from '../../core/definition/plan-difference.ts';
import { canonicalJson, planToJson } from '../../core/definition/plan-json.ts';
import { DURATION_MS_MAX } from '../../core/limits.ts';

const field = fc.constantFrom('a', 'b.c', 'd\\.e', '__proto__', 'constructor');
const aboveZero = fc.constantFrom('1ms', '30s', '90m', '1h30m', '24h', '1d', '7d');
const windowSize = aboveZero;
const aggregate = fc.oneof(
  fc.constant({ count: '*' }),
  fc
    .tuple(fc.constantFrom('count', 'sum', 'min', 'max', 'mean'), field)
    .map(([kind, of]) => ({ [kind]: of })),
  fc.record({
    quantile: field,
    at: fc.uniqueArray(fc.constantFrom(0, 0.5, 0.99, 1), { minLength: 1 }),
  }),
);
const name = fc.constantFrom('a', 'b', 'constructor', '10', '9', 'a.b', 'toString');
const view = fc
  .record(
    {
      category: fc.constantFrom('x', 'y'),
      groupBy: fc.uniqueArray(field, { maxLength: 3 }),
      window: fc.record({ tumbling: windowSize }),
      late: fc.constantFrom('update', 'side', 'drop'),
      aggregates: fc.dictionary(name, aggregate, { minKeys: 1, maxKeys: 4 }),
    },
    { requiredKeys: ['aggregates'] },
  )
  .map(({ late, ...rest }) =>
    rest.window === undefined ? rest : { ...rest, ...(late && { late }) },
  );
const pipelineJson = fc.record(
  {
    name,
    stream: name,
    time: fc.record(
      {
        field,
        unit: fc.constantFrom('ms', 's'),
        zone: fc.constantFrom('UTC', 'Asia/Kolkata'),
        lateness: fc.oneof(aboveZero, fc.constant('0s')),
        skew: fc.oneof(aboveZero, fc.constantFrom('none', '0s')),
      },
      { requiredKeys: ['field'] },
    ),
    category: fc.record({ field }),
    dedupe: fc.record({ id: field, within: aboveZero }),
    views: fc.dictionary(name, view, { minKeys: 1, maxKeys: 4 }),
  },
  { requiredKeys: ['name', 'category', 'views'] },
);

function planOf(json: unknown): Plan {
  const parsed = parsePlan(json);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

/** The same JSON with the properties of every object the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, part]) => [key, reversed(part)])
      .reverse(),
  );
}

it('a plan is a function of meaning: order and defaults do not touch it', () => {
  fc.assert(
    fc.property(pipelineJson, (json) => {
      const plan = planOf(json);
      expect(planOf(reversed(json))).toEqual(plan);
      const spelled = planToJson(plan);
      expect(planOf(spelled)).toEqual(plan);
      expect(planOf(reversed(spelled))).toEqual(plan);
      expect(planToJson(planOf(spelled))).toEqual(spelled);
      expect(planOf(JSON.parse(canonicalJson(spelled)))).toEqual(plan);
      expect(describeDifference(spelled, planToJson(planOf(reversed(json))))).toEqual([]);
    }),
    { numRuns: 250 },
  );
});

it('two plans have one hash exactly when they are equal, and otherwise a difference is told', () => {
  let equal = 0;
  fc.assert(
    fc.property(pipelineJson, pipelineJson, (a, b) => {
      const [planA, planB] = [planOf(a), planOf({ ...a, views: b.views })];
      const [jsonA, jsonB] = [planToJson(planA), planToJson(planB)];
      const isSame = canonicalJson(jsonA) === canonicalJson(jsonB);
      if (isSame) equal++;
      expect(planA.hash === planB.hash).toBe(isSame);
      expect(describeDifference(jsonA, jsonB).length > 0).toBe(!isSame);
    }),
    { numRuns: 250 },
  );
  expect(equal).toBeLessThan(250);
});

it('parsing never throws on JSON, and either gives a plan or says what is wrong', () => {
  const spoilt = fc.tuple(pipelineJson, fc.jsonValue(), fc.nat()).map(([json, value, where]) => {
    const text = JSON.stringify(json);
    const values = [...text.matchAll(/:(?=["{[])/g)].map(({ index }) => index);
    const index = values[where % values.length] ?? 0;
    // Puts another value before the property's own, which then stands under an unknown name.
    return JSON.parse(
      `${text.slice(0, index + 1)}${JSON.stringify(value)},"odd":${text.slice(index + 1)}`,
    ) as unknown;
  });
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), spoilt), (json) => {
      const parsed = parsePlan(json);
      expect(parsed.ok).toBe(false);
      if (parsed.ok) return;
      expect(parsed.problems.length).toBeGreaterThan(0);
      for (const { found, expected } of parsed.problems) {
        expect(found).not.toBe('');
        expect(found.length + expected.length).toBeLessThan(500);
      }
    }),
    { numRuns: 600 },
  );
});

it('durations come back from their text', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: DURATION_MS_MAX }), (ms) => {
      expect(parseDuration(formatDuration(ms))?.ms).toBe(ms);
    }),
  );
});
