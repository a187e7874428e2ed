import { describe, expect, it } from 'vitest';
import type { AccumulatorColumn } from '../../../../core/aggregate/column.ts';
import { ByteReader, ByteWriter } from '../../../../core/bytes.ts';
import { createJsonDecoder } from '../../../../core/decode/json-decoder.ts';
import * as frontDoor from '../../../../core/definition/index.ts';
import {
  AGGREGATE_CODES,
  AGGREGATES,
  AGGREGATES_LATER,
  type AggregateKind,
  aggregateOf,
} from '../../../../core/definition/kinds/aggregate-kinds.ts';
import { parsePlan } from '../../../../core/definition/parse-plan.ts';
import type { Plan, ViewPlan } from '../../../../core/definition/plan.ts';
import { planToJson } from '../../../../core/definition/plan-json.ts';
import { columnId } from '../../../../core/definition/view-match.ts';
import { parseViewRequest } from '../../../../core/query/view-request.ts';
import { Random } from '../../../../simulation/random.ts';
import { differenceOf } from '../../../../simulation/recount-difference.ts';
import { RecountRow } from '../../../../simulation/recount-row.ts';

/** Options of each kind, as a plan has them: several where they ask for different things. */
const OPTIONS: Readonly<Record<AggregateKind, readonly object[]>> = {
  count: [{}],
  sum: [{}],
  min: [{}],
  max: [{}],
  mean: [{}],
  quantile: [{ at: [0.5] }, { at: [0, 0.25, 1] }],
};
/** Options as a file may spell them, and as a plan has them. */
const SPELLINGS: readonly (readonly [AggregateKind, object, object])[] = [
  ['quantile', { at: [0.9, -0, 0.1] }, { at: [0, 0.1, 0.9] }],
];
const CASES = AGGREGATES.flatMap(({ kind }) =>
  OPTIONS[kind].map((options) => [kind, options] as const),
);
const KINDS = AGGREGATES.map(({ kind }) => kind);

function planOf(aggregate: object, more: object = {}): Plan {
  const aggregates = { a: aggregate, ...more };
  const parsed = parsePlan({ name: 'p', views: { v: { groupBy: ['g'], aggregates } } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

function viewOf(plan: Plan): ViewPlan {
  return plan.views[0] as ViewPlan;
}

function isRefused(aggregate: object): boolean {
  return !parsePlan({ name: 'p', views: { v: { aggregates: { a: aggregate } } } }).ok;
}

describe('the kinds of aggregates', () => {
  it('have each a name, a code and other names of their own', () => {
    const names = AGGREGATES.flatMap(({ kind, otherNames }) => [kind, ...otherNames]);
    expect(new Set([...names, ...AGGREGATES_LATER]).size).toBe(
      names.length + AGGREGATES_LATER.length,
    );
    expect(new Set(AGGREGATES.map(({ code }) => code)).size).toBe(KINDS.length);
    for (const { kind, code } of AGGREGATES) {
      expect(Number.isInteger(code) && code >= 0 && code <= 255).toBe(true);
      expect(AGGREGATE_CODES.nameOf(code)).toBe(kind);
      expect(aggregateOf(kind).kind).toBe(kind);
    }
  });
});

describe.each(CASES)('%s %j', (kind, options) => {
  const descriptor = aggregateOf(kind);
  const json = descriptor.toJson('delay', options);

  it('is built by a function of its name at the front door', () => {
    const build = (frontDoor as unknown as Record<string, (...given: unknown[]) => object>)[kind];
    expect(build?.('delay', ...Object.values(options))).toStrictEqual(json);
  });

  it.each(['delay', 'flight.delay', 'a\\.b', '\\*'])(
    'goes to a plan and back, of the field %s',
    (field) => {
      const file = descriptor.toJson(field, options);
      const plan = planOf(file);
      expect(viewOf(plan).aggregates[0]).toMatchObject({ kind, options });
      expect(planToJson(plan).views['v']?.aggregates['a']).toStrictEqual(file);
      expect(planOf(planToJson(plan).views['v']?.aggregates['a'] as object).hash).toBe(plan.hash);
    },
  );

  it('takes whole records if it says so, and only then', () => {
    const file = descriptor.toJson('*', options);
    expect(isRefused(file)).toBe(!descriptor.takesRecords);
    if (!descriptor.takesRecords) return;
    const plan = planOf(file);
    expect(viewOf(plan).aggregates[0]?.field).toBeNull();
    expect(planToJson(plan).views['v']?.aggregates['a']).toStrictEqual(file);
  });

  it('refuses a property that is no option of it', () => {
    expect(isRefused(json)).toBe(false);
    expect(isRefused({ ...json, more: 1 })).toBe(true);
    const foreign = AGGREGATES.flatMap(({ optionNames }): readonly string[] => optionNames);
    for (const name of foreign.filter((each) => !descriptor.optionNames.includes(each))) {
      expect(isRefused({ ...json, [name]: [0.5] })).toBe(true);
    }
    for (const name of descriptor.optionNames) expect(Object.keys(options)).toContain(name);
  });

  it('changes the hash of the plan, but the state of its column by kind and field only', () => {
    const plan = planOf(json);
    const others = CASES.filter(([other, its]) => other !== kind || its !== options).map(
      ([other, its]) => [other, planOf(aggregateOf(other).toJson('delay', its))] as const,
    );
    for (const [other, changed] of others) {
      expect(changed.hash).not.toBe(plan.hash);
      expect(viewOf(changed).hash).toBe(viewOf(plan).hash);
      const [mine, its] = [plan, changed].map((each) => viewOf(each).columns.map(columnId));
      if (other === kind) expect(its).toEqual(mine);
      else expect(its).not.toEqual(mine);
    }
    const ofOther = planOf(descriptor.toJson('distance', options));
    expect(ofOther.hash).not.toBe(plan.hash);
    expect(viewOf(ofOther).columns.map(columnId)).not.toEqual(viewOf(plan).columns.map(columnId));
  });

  it('asks of its field what it says', () => {
    const plan = planOf(json);
    expect(plan.fields).toContainEqual(['delay']);
    const decode = (delay: string): boolean => {
      const fields = { timeMs: null, isTimeNumber: false, category: null, dedupeId: null };
      const data = new TextEncoder().encode(`{"g":1,"delay":${delay}}`);
      return createJsonDecoder(plan).decode(data, { ...fields, values: [] }) === null;
    };
    expect(['1', '-2.5', 'null'].map(decode)).toEqual([true, true, true]);
    const takesAny = descriptor.fieldUse === 'counted';
    expect(['"late"', '{}', '[1]', 'true', '1e999'].map(decode)).toEqual(
      [1, 2, 3, 4, 5].map(() => takesAny),
    );
  });

  it('can be ordered by what it says, and by nothing else', () => {
    const plan = planOf(json);
    const asks = (order: string) => parseViewRequest(plan, 'v', [['order', order]]);
    const orders = descriptor.orders(options);
    expect(asks('a').ok).toBe(orders.includes(null));
    for (const part of orders) {
      const asked = asks(part === null ? '-a' : `-a.${part}`);
      if (!asked.ok) throw new Error(JSON.stringify(asked.problem));
      expect(asked.value.order).toEqual({ aggregate: 0, rank: part, descending: true });
    }
    expect(asks('a.0.123').ok).toBe(false);
    for (const values of LISTS) {
      const { value } = folded(kind, options, values);
      for (const part of orders) {
        const found = part === null ? value : (value as Record<string, unknown>)[part];
        expect(found === null || typeof found === 'number').toBe(true);
      }
      const isWhole = value === null || typeof value === 'number';
      expect(isWhole).toBe(orders.includes(null));
      if (!isWhole) expect(Object.keys(value).sort()).toEqual([...orders].sort());
    }
  });

  it('gives the results of a naive fold', () => {
    const plan = planOf(json);
    const view = viewOf(plan);
    for (const values of LISTS) {
      const row = new RecountRow(view, [], null, [[...values]]);
      const found = { values: { a: folded(kind, options, values).value } };
      expect(differenceOf(view, row, found)).toBeNull();
    }
  });
});

describe.each(KINDS)('a column of %s', (kind) => {
  it('is made of numbers, or takes whatever is there, as its descriptor says', () => {
    const { fieldUse, takesRecords } = aggregateOf(kind);
    const [some, others] = [
      [1, 2, 3],
      [-7, 0.5, 1e9],
    ].map((values) => bytesOf(columnWith(kind, values)).join());
    expect(some === others).toBe(fieldUse === 'counted');
    if (takesRecords) expect(fieldUse).toBe('counted');
  });

  it('merges in any order and grouping exactly if its descriptor says so', () => {
    const { foldOrder } = aggregateOf(kind);
    const random = new Random(`merges of ${kind}`);
    const isSame = LISTS.every((values) => {
      const whole = bytesOf(columnWith(kind, values));
      return [1, 2, 3, 4, 5].every(() => {
        return bytesOf(inParts(kind, shuffled(values, random), random)).join() === whole.join();
      });
    });
    expect(isSame).toBe(foldOrder === 'any-order');
  });

  it('has an identity, and copies and bytes that stand for the same', () => {
    const { createColumn } = aggregateOf(kind);
    for (const values of LISTS) {
      const column = columnWith(kind, values);
      const bytes = bytesOf(column);
      const other = createColumn();
      other.grow(2);
      column.merge(0, other, 0);
      expect(bytesOf(column)).toEqual(bytes);
      other.copy(0, column, 0);
      expect(bytesOf(other)).toEqual(bytes);
      const reader = new ByteReader(bytes);
      other.decode(1, reader);
      reader.end();
      expect(bytesOf(other, 1)).toEqual(bytes);
      other.reset(1);
      expect(bytesOf(other, 1)).toEqual(bytesOf(columnWith(kind, [])));
    }
  });
});

it.each(SPELLINGS)('%s with the options %j means those of %j', (kind, spelled, options) => {
  const { toJson } = aggregateOf(kind);
  const plan = planOf({ ...toJson('delay', options), ...spelled });
  expect(viewOf(plan).aggregates[0]?.options).toStrictEqual(options);
  expect(plan.hash).toBe(planOf(toJson('delay', options)).hash);
});

const LISTS: readonly (readonly number[])[] = (() => {
  const random = new Random('lists of values');
  const list = (length: number, next: () => number) => Array.from({ length }, next);
  return [
    [],
    [0],
    [7],
    [-0.1, 0.2, 0.30000000000000004],
    [3, 1, 2, 1],
    [2 ** 53, 1, -(2 ** 53), 1],
    [1e308, 1e308, -1e308, 5e-324],
    list(200, () => random.between(-50, 50)),
    list(100, () => (random.fraction() - 0.5) * 10 ** random.between(-3, 3)),
  ];
})();

function columnWith(kind: AggregateKind, values: readonly number[]): AccumulatorColumn {
  const column = aggregateOf(kind).createColumn();
  column.grow(1);
  for (const value of values) column.add(0, value);
  return column;
}

function folded(kind: AggregateKind, options: object, values: readonly number[]) {
  return aggregateOf(kind).result(columnWith(kind, values), 0, options);
}

/** The values in parts, and the parts merged as a random tree. */
function inParts(
  kind: AggregateKind,
  values: readonly number[],
  random: Random,
): AccumulatorColumn {
  if (values.length < 2 || random.chance(0.2)) return columnWith(kind, values);
  const cut = random.between(1, values.length - 1);
  const [left, right] = [values.slice(0, cut), values.slice(cut)].map((part) =>
    inParts(kind, part, random),
  ) as [AccumulatorColumn, AccumulatorColumn];
  left.merge(0, right, 0);
  return left;
}

function shuffled(values: readonly number[], random: Random): number[] {
  const rest = [...values];
  return values.map(() => rest.splice(random.below(rest.length), 1)[0] as number);
}

function bytesOf(column: AccumulatorColumn, slot = 0): Uint8Array {
  const writer = new ByteWriter();
  column.encode(slot, writer);
  return writer.finish();
}
