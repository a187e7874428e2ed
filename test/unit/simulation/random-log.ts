/**
 * Random plans, and logs that meet them: times around a few boundaries in several spellings, few ids and keys, values of
 * every type, bytes that are no JSON.
 */
import fc from 'fast-check';
import type { Plan } from '../../../core/definition/plan.ts';
import type { LoggedRecord } from '../../../simulation/recount.ts';
import { planOf } from '../state/fold-fixture.ts';

const FIELDS = ['a', 'b', 'c.d', '__proto__'];
const CATEGORIES = ['x', 'y'];
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/St_Johns',
  'Asia/Kathmandu',
  'Africa/Cairo',
  'Pacific/Apia',
];
/** Clocks change in some of the zones near these. */
const MOMENTS = [
  '2006-10-29',
  '2011-12-30',
  '2023-04-28',
  '2024-03-31',
  '2024-10-27',
  '1899-12-31',
];

const anyField = fc.constantFrom(...FIELDS);
const anyAggregate = fc.oneof(
  fc.record({ count: fc.constantFrom('*', ...FIELDS) }),
  fc.record({ sum: anyField }),
  fc.record({ min: anyField }),
  fc.record({ max: anyField }),
  fc.record({ mean: anyField }),
  fc.record({
    quantile: anyField,
    at: fc.uniqueArray(fc.constantFrom(0, 0.1, 0.5, 0.9, 0.99, 1), { minLength: 1, maxLength: 4 }),
  }),
);

const anyView = (hasCategory: boolean) =>
  fc
    .record(
      {
        category: fc.constantFrom(...CATEGORIES),
        groupBy: fc.uniqueArray(anyField, { minLength: 1, maxLength: 3 }),
        window: fc
          .constantFrom('1s', '10s', '1h', '24h', '1d', '7d')
          .map((tumbling) => ({ tumbling })),
        late: fc.constantFrom('update', 'side', 'drop'),
        aggregates: fc.dictionary(fc.constantFrom('p', 'q', 'r', 's'), anyAggregate, {
          minKeys: 1,
        }),
      },
      { requiredKeys: ['aggregates'] },
    )
    .map(({ category, late, ...view }) => ({
      ...view,
      ...(hasCategory && category !== undefined ? { category } : {}),
      ...(view.window === undefined || late === undefined ? {} : { late }),
    }));

export const anyPlan: fc.Arbitrary<Plan> = fc.boolean().chain((hasCategory) =>
  fc
    .record({
      unit: fc.constantFrom('ms', 's'),
      zone: fc.constantFrom(...ZONES),
      lateness: fc.constantFrom('0s', '1s', '1m', '2h'),
      skew: fc.constantFrom('none', '1s', '2h'),
      byArrival: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
      idle: fc.constantFrom(null, '1ms', '2h'),
      within: fc.constantFrom(null, '1ms', '10s', '1d'),
      views: fc.dictionary(fc.constantFrom('u', 'v', 'w'), anyView(hasCategory), { minKeys: 1 }),
    })
    .map(({ unit, zone, lateness, skew, byArrival, idle, within, views }) =>
      planOf({
        name: 'any',
        time: {
          zone,
          lateness,
          ...(byArrival ? {} : { field: 'when', unit, skew }),
          ...(idle === null || (skew === 'none' && !byArrival) ? {} : { idle }),
        },
        ...(hasCategory ? { category: { field: 'kind' } } : {}),
        ...(within === null ? {} : { dedupe: { id: 'id', within } }),
        views,
      }),
    ),
);

const KEYS = ['null', 'true', '"k"', '"l"', '"\\u0000k"', '"\\ud800"', '7', '-0', '0', '0.1'];
const NUMBERS = [
  '1e300',
  '-1.7e308',
  '5e-324',
  '9007199254740993',
  '-3',
  '0.30000000000000004',
  '1e16',
];
const ODD = [
  // As long as a group key may be, but for its zeros.
  `"${'\\u0000'.repeat(30)}${'k'.repeat(4040)}"`,
  '1e999',
  '[]',
  '{}',
  '{"d":1}',
  '"x"',
  `"${'long'.repeat(1100)}"`,
];
const anyValue = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...KEYS) },
  { weight: 5, arbitrary: fc.constantFrom(...NUMBERS) },
  { weight: 5, arbitrary: fc.integer({ min: -50, max: 50 }).map(String) },
  {
    weight: 2,
    arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => JSON.stringify(n)),
  },
  { weight: 1, arbitrary: fc.constantFrom(...ODD) },
);
/** Values that every use takes, and that are seldom alone in their group. */
const soundValue = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -3, max: 3 }).map(String) },
  { weight: 2, arbitrary: fc.constantFrom('0.1', '-7.25', '0.30000000000000004', 'null') },
);
const soundId = fc.integer({ min: 0, max: 400 }).map(String);
const anyId = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 0, max: 9 }).map(String) },
  { weight: 3, arbitrary: fc.constantFrom('"1"', '"2"', '-0') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('null', '""', '0.5', 'true', '1e999', '9007199254740992'),
  },
);

interface Spelt {
  readonly timeMs: number;
  readonly spelling: number;
}

/** A time of one moment, in one of the spellings that a plan with this unit reads. */
function timeText({ timeMs, spelling }: Spelt, unitMs: number): string {
  const iso = new Date(timeMs).toISOString();
  if (spelling === 0) return `"${iso}"`;
  if (spelling === 1) return `"${iso.slice(0, 19)}"`;
  if (spelling === 2) return `"${iso.slice(0, 10)}"`;
  if (spelling === 3) return `"${iso.slice(0, 16).replace('T', ' ')}+05:30"`;
  if (spelling === 4) return 'null';
  if (spelling === 5) return `"${iso.slice(0, 19)},98765-0330"`;
  if (spelling === 6) return String(timeMs / unitMs + 0.0005);
  return String(timeMs / unitMs);
}

const anyTime = (ownSpelling: number) =>
  fc.record({
    offset: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 0, max: 15_000 }) },
      {
        weight: 1,
        arbitrary: fc.integer({ min: -40, max: 3 }).map((hours) => hours * 3_600_000),
      },
      {
        weight: 1,
        arbitrary: fc.integer({ min: -3_000, max: 5 }).map((minutes) => minutes * 60_000),
      },
    ),
    spelling: fc.oneof(
      { weight: ownSpelling, arbitrary: fc.constant(7) },
      { weight: 3, arbitrary: fc.integer({ min: 0, max: 6 }) },
    ),
  });

/** `wild` records hold anything, the others mostly what folds. */
const anyRecord = (wild: boolean) => {
  const value = wild ? anyValue : soundValue;
  return fc.record({
    time: anyTime(wild ? 3 : 20),
    kind: fc.constantFrom('"x"', '"x"', '"y"', '"z"', 'null', wild ? '7' : '"y"'),
    id: wild ? anyId : soundId,
    fields: fc.tuple(value, value, value, value),
    missing: fc.integer({ min: 0, max: wild ? 30 : 100 }),
    shape: fc.oneof(
      { weight: 40, arbitrary: fc.constant('object') },
      { weight: 1, arbitrary: fc.constantFrom('array', 'cut', 'no-utf8', 'marked') },
      { weight: 1, arbitrary: fc.constant('heartbeat') },
    ),
  });
};
const records = (wild: boolean) =>
  fc.array(anyRecord(wild), { minLength: 1, maxLength: 60, size: 'max' });

/** A log of one shard, for any plan that `anyPlan` makes. */
export const anyLog = fc
  .record({
    moment: fc.constantFrom(...MOMENTS),
    records: fc.oneof(
      { weight: 1, arbitrary: records(true) },
      { weight: 3, arbitrary: records(false) },
    ),
  })
  .map(({ moment, records }) => (plan: Plan): LoggedRecord[] => {
    const startMs = Date.parse(`${moment}T00:00:00Z`);
    const unitMs = plan.time?.unitMs ?? 1;
    return records.map(({ time, kind, id, fields, missing, shape }, index) => {
      const [a, b, d, proto] = fields;
      const when = timeText({ ...time, timeMs: startMs + index * 700 + time.offset }, unitMs);
      const members = [
        `"when":${when}`,
        `"kind":${kind}`,
        `"id":${id}`,
        `"a":${a}`,
        `"b":${b}`,
        `"c":{"d":${d}}`,
        `"__proto__":${proto}`,
      ];
      const text = `{${members.filter((_, member) => member !== missing).join(',')}}`;
      return {
        sequenceNumber: String(9_999_999_000n + BigInt(index) * 13n),
        subSequence: 0,
        partitionKey: 'p',
        arrivalMs: startMs + index * 700 + 15_000,
        data: bytesOf(text, shape),
      };
    });
  });

function bytesOf(text: string, shape: string): Uint8Array {
  if (shape === 'heartbeat') return Buffer.from('{"tidemark":"heartbeat"}');
  if (shape === 'array') return Buffer.from(`[${text}]`);
  if (shape === 'cut') return Buffer.from(text.slice(0, -1));
  if (shape === 'no-utf8') return Buffer.from(text.replace('"kind"', '"\xe9"'), 'latin1');
  return Buffer.from(shape === 'marked' ? `\uFEFF${text}` : text);
}
