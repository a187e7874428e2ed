import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createJsonDecoder } from '../../core/decode/json-decoder.ts';
import type { RecordFields } from '../../core/decode/record-decoder.ts';
import { formatFieldPath, parseFieldPath } from '../../core/definition/field-path.ts';
import { parsePlan } from '../../core/definition/parse-plan.ts';
import type { Plan } from '../../core/definition/plan.ts';

const encoder = new TextEncoder();

/** Few names, and odd ones, so that plans and records meet. */
const fieldName = fc.constantFrom(
  'a',
  'b',
  'a.b',
  '__proto__',
  'constructor',
  'length',
  'toString',
  '0',
  '*',
  '\\',
);
const fieldPath = fc.array(fieldName, { minLength: 1, maxLength: 3 }).map(formatFieldPath);
const category = fc.constantFrom('x', 'y', '__proto__');

const scalar = fc.oneof(
  fc.constantFrom(
    'null',
    'true',
    'false',
    '""',
    '"x"',
    '"y"',
    '"7"',
    '"2024-02-29"',
    '"2024-02-30"',
    '-0',
    '0',
    '7',
  ),
  fc.constantFrom(
    '1e999',
    '-1e999',
    '9007199254740993',
    '-9007199254740991',
    '0.5',
    '"\\u0000"',
    '"😀"',
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.string({ unit: 'grapheme' }).map((value) => JSON.stringify(value)),
);
/** JSON text, written by hand: `__proto__`, names that occur twice and numbers beyond doubles included. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    scalar,
    fc.array(tie('json'), { maxLength: 3 }).map((elements) => `[${elements.join()}]`),
    objectOf(tie('json')),
  ),
}));

function objectOf(value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const member = fc
    .tuple(fieldName, value)
    .map(([name, text]) => `${JSON.stringify(name)}: ${text}`);
  return fc.array(member, { maxLength: 6 }).map((members) => `{${members.join(' ,')}}`);
}

/** Records that have a readable time, a category and an id most of the time. */
const recordText = fc
  .tuple(
    fc.constantFrom('"kind": "x", ', '"kind":"y",', '"kind":null,', '', '"kind":7,'),
    fc.constantFrom('"when":7,', '"when":"2024-02-29",', '"when":-1e12,', '"when":"now",'),
    fc.constantFrom('"no":5,', '"no":"a",', '"no":-0,', '"no":"",'),
    objectOf(
      fc.oneof({ weight: 3, arbitrary: fc.constantFrom('"x"', '7', '0.5', '-0', 'null') }, json),
    ),
  )
  .map(([kind, when, no, object]) => {
    const text = `{${kind}${when}${no}${object.slice(1)}`;
    return text.replace(/, *}$/, '}');
  });

const aggregate = fc.oneof(
  fieldPath.map((path) => ({ sum: path })),
  fieldPath.map((path) => ({ count: path })),
  fc.constant({ count: '*' }),
);
const view = fc.record(
  {
    category,
    groupBy: fc.uniqueArray(fieldPath, { maxLength: 2 }),
    aggregates: fc.array(aggregate, { minLength: 1, maxLength: 2 }).map((all) => {
      return Object.fromEntries(all.map((one, index) => [`g${index}`, one]));
    }),
  },
  { requiredKeys: ['groupBy', 'aggregates'] },
);
const mostly = (path: string): fc.Arbitrary<string> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(path) }, { weight: 1, arbitrary: fieldPath });
const plan: fc.Arbitrary<Plan> = fc
  .record(
    {
      time: fc.record({ field: mostly('when') }),
      dedupe: fc.record({ id: mostly('no'), within: fc.constant('5m') }),
      category: fc.record({ field: mostly('kind') }),
      views: fc.array(view, { minLength: 1, maxLength: 3 }),
    },
    { requiredKeys: ['category', 'views'] },
  )
  .map(({ views, ...rest }) => {
    const named = Object.fromEntries(views.map((one, index) => [`v${index}`, one]));
    const parsed = parsePlan({ name: 'p', ...rest, views: named });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    return parsed.plan;
  });

/** A plain value, reached by the plainest means: a Map for every object. */
type Node = Map<string, Node> | Node[] | string | number | boolean | null;

function read(text: string): Node {
  return JSON.parse(text, (_name, value: unknown) => {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject && !(value instanceof Map) ? new Map(Object.entries(value)) : value;
  }) as Node;
}

function at(node: Node, path: readonly string[]): Node | undefined {
  const [name, ...rest] = path;
  if (name === undefined) return node;
  const child = node instanceof Map ? node.get(name) : undefined;
  return child === undefined ? undefined : at(child, rest);
}

function isKeyNumber(value: unknown): boolean {
  return (
    typeof value === 'number' &&
    Number.isFinite(value) &&
    !(Number.isInteger(value) && Math.abs(value) > 2 ** 53 - 1)
  );
}

/** What the design says of a record, word by word; 'bad' for a bad one. */
function judge(
  text: string,
  { time, dedupe, category: field, fields, views }: Plan,
): Omit<RecordFields, 'timeMs' | 'isTimeNumber'> | 'bad' {
  const record = read(text);
  if (!(record instanceof Map)) return 'bad';
  if (time !== null) {
    const value = at(record, time.path);
    const isTime = typeof value === 'number' ? Math.abs(value) < 1e13 : value === '2024-02-29';
    if (!isTime) return 'bad';
  }
  const kind = field === null ? null : (at(record, field) ?? null);
  if (kind !== null && typeof kind !== 'string') return 'bad';
  let dedupeId: string | null = null;
  if (dedupe !== null) {
    const id = at(record, dedupe.path);
    if (typeof id === 'string' && id !== '') dedupeId = `"${id}`;
    else if (Number.isInteger(id) && isKeyNumber(id)) dedupeId = String(id);
    else return 'bad';
  }
  const values: RecordFields['values'] = fields.map(() => undefined);
  for (const { category: only, groupBy, aggregates } of views) {
    if (only !== null && only !== kind) continue;
    for (const { field: index } of groupBy) {
      const value = at(record, fields[index] ?? []);
      if (typeof value === 'object' && value !== null) return 'bad';
      if (typeof value === 'number' && !isKeyNumber(value)) return 'bad';
      values[index] = value === 0 ? 0 : value;
    }
    for (const { field: index, kind: aggregateKind } of aggregates) {
      if (index === null || aggregateKind === 'count') continue;
      const value = at(record, fields[index] ?? []);
      if (value !== undefined && value !== null && !Number.isFinite(value)) return 'bad';
      values[index] = value === 0 ? 0 : (value as number | null | undefined);
    }
  }
  return { category: kind, dedupeId, values };
}

/** Fields that a record's views only count: these are true, null or undefined. */
function isOnlyCounted(index: number, { views }: Plan, kind: string | null): boolean {
  const selecting = views.filter(({ category: only }) => only === null || only === kind);
  return selecting.every(
    ({ groupBy, aggregates }) =>
      groupBy.every(({ field }) => field !== index) &&
      aggregates.every(
        ({ field, kind: aggregateKind }) => field !== index || aggregateKind === 'count',
      ),
  );
}

describe('the decoder', () => {
  it('judges any JSON as a plain reading of the rules does, one record after another', () => {
    let sound = 0;
    fc.assert(
      fc.property(
        plan,
        fc.array(fc.oneof(json, recordText), { minLength: 1, maxLength: 8 }),
        (ofPlan, texts) => {
          const decoder = createJsonDecoder(ofPlan);
          const fields: RecordFields = {
            timeMs: null,
            isTimeNumber: false,
            category: null,
            dedupeId: null,
            values: [],
          };
          for (const text of texts) {
            const bad = decoder.decode(encoder.encode(text), fields);
            const expected = judge(text, ofPlan);
            if (expected === 'bad') {
              expect(bad).not.toBeNull();
              expect(bad?.detail.length).toBeLessThan(900);
              continue;
            }
            expect(bad).toBeNull();
            sound++;
            expect(fields.category).toBe(expected.category);
            expect(fields.dedupeId).toBe(expected.dedupeId);
            expect(fields.values).toHaveLength(ofPlan.fields.length);
            for (const [index, value] of fields.values.entries()) {
              if (!isOnlyCounted(index, ofPlan, fields.category)) {
                expect(Object.is(value, expected.values[index])).toBe(true);
              } else if (typeof value === 'boolean') expect(value).toBe(true);
              else expect(value ?? null).toBeNull();
            }
          }
        },
      ),
      { numRuns: 1500 },
    );
    expect(sound).toBeGreaterThan(500);
  });

  it('never throws on any bytes, and takes what JSON.parse takes', () => {
    const anything = createJsonDecoder(planOf({ v: { aggregates: { n: { count: '*' } } } }));
    const fields: RecordFields = {
      timeMs: null,
      isTimeNumber: false,
      category: null,
      dedupeId: null,
      values: [],
    };
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.tuple(json, fc.nat(), fc.integer({ min: 0, max: 255 })).map(([text, where, byte]) => {
        const spoilt = encoder.encode(text);
        if (spoilt.length > 0) spoilt[where % spoilt.length] = byte;
        return spoilt;
      }),
    );
    fc.assert(
      fc.property(bytes, (data) => {
        let expected: string | undefined;
        try {
          const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data));
          const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
          expected = isObject ? undefined : 'not-an-object';
        } catch {
          expected = 'not-json';
        }
        expect(anything.decode(data, fields)?.reason).toBe(expected);
      }),
      { numRuns: 1500 },
    );
  });
});

function planOf(views: object): Plan {
  const parsed = parsePlan({ name: 'p', views });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

describe('field paths', () => {
  it('come back from their text as they were', () => {
    const names = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(fc.oneof(names, fc.array(fieldName, { minLength: 1, maxLength: 8 })), (path) => {
        expect(parseFieldPath(formatFieldPath(path))).toEqual(path);
      }),
    );
  });

  it('are read from any text or refused, and then written as one text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '.', '\\', '*', '"') }), (text) => {
        const path = parseFieldPath(text);
        if (path === null) return;
        expect(path).not.toContain('');
        expect(parseFieldPath(formatFieldPath(path))).toEqual(path);
      }),
    );
  });
});
