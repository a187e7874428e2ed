import { describe, expect, it } from 'vitest';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { BadRecord, RecordFields } from '../../../core/decode/record-decoder.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { Plan } from '../../../core/definition/plan.ts';

const encoder = new TextEncoder();
const N = { n: { count: '*' } };

function planOf(part: object): Plan {
  const parsed = parsePlan({ name: 'p', views: { v: { aggregates: N } }, ...part });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

interface Decoded {
  readonly bad: BadRecord | null;
  readonly fields: RecordFields;
}

function decode(plan: Plan, data: string | Uint8Array): Decoded {
  const fields: RecordFields = {
    timeMs: null,
    isTimeNumber: false,
    category: null,
    dedupeId: null,
    values: [],
  };
  const bytes = typeof data === 'string' ? encoder.encode(data) : data;
  return { bad: createJsonDecoder(plan).decode(bytes, fields), fields };
}

/** The values by path, of a record that must be sound. */
function valuesOf(plan: Plan, data: string): Record<string, unknown> {
  const { bad, fields } = decode(plan, data);
  expect(bad).toBeNull();
  return Object.fromEntries(
    plan.fields.map((path, index) => [path.join('/'), fields.values[index]]),
  );
}

const flights = planOf({
  views: {
    v: {
      groupBy: ['origin'],
      aggregates: { total: { sum: 'delay' }, known: { count: 'carrier' } },
    },
  },
});

describe('a sound record', () => {
  it('gives the fields that the plan needs', () => {
    const text = '{"origin":"LAS","delay":33,"carrier":"WN","tail":{"a":[1]}}';
    expect(valuesOf(flights, text)).toEqual({ origin: 'LAS', delay: 33, carrier: true });
  });

  it.each([
    ['{}', undefined, undefined, undefined],
    ['{"origin":null,"delay":null,"carrier":null}', null, null, null],
    ['{"origin":true,"delay":-0.0,"carrier":{"a":1}}', true, 0, true],
    ['{"origin":-0,"delay":1e-400,"carrier":[]}', 0, 0, true],
    ['{"origin":0.5,"delay":9007199254740993,"carrier":1e999}', 0.5, 9007199254740992, true],
    ['{"origin":"","delay":-1.5e300,"carrier":false}', '', -1.5e300, true],
    ['{"origin":9007199254740991,"carrier":""}', 9007199254740991, undefined, true],
  ])('may be %s', (text, origin, delay, carrier) => {
    const values = valuesOf(flights, text);
    expect(values).toStrictEqual({ origin, delay, carrier });
    for (const value of Object.values(values)) expect(Object.is(value, -0)).toBe(false);
  });

  it('may have spaces around it and one byte order mark before it', () => {
    expect(valuesOf(flights, '\uFEFF \r\n{"delay":1}\t ')).toMatchObject({ delay: 1 });
    expect(decode(flights, '\uFEFF\uFEFF{}').bad?.reason).toBe('not-json');
  });

  it('has text of any characters, escaped or not', () => {
    expect(valuesOf(flights, '{"origin":"é\\u00e9 😀 \\ud83d\\ude00 \\u0000"}')).toMatchObject({
      origin: 'éé 😀 😀 \0',
    });
    expect(valuesOf(flights, '{"or\\u0069gin":"x"}')).toMatchObject({ origin: 'x' });
  });

  it('gives the last of fields with the same name', () => {
    expect(valuesOf(flights, '{"origin":"a","origin":"b"}')).toMatchObject({ origin: 'b' });
  });

  it('leaves nothing behind for the next one', () => {
    const decoder = createJsonDecoder(flights);
    const fields: RecordFields = {
      timeMs: 5,
      isTimeNumber: true,
      category: 'x',
      dedupeId: 'y',
      values: ['old'],
    };
    decoder.decode(encoder.encode('{"origin":"a","delay":1,"carrier":2}'), fields);
    expect(decoder.decode(encoder.encode('{}'), fields)).toBeNull();
    expect(fields).toEqual({
      timeMs: null,
      isTimeNumber: false,
      category: null,
      dedupeId: null,
      values: [undefined, undefined, undefined],
    });
  });

  it('may be a view into a larger buffer', () => {
    const bytes = encoder.encode('xx{"delay":7}yy');
    expect(decode(flights, bytes.subarray(2, bytes.length - 2)).bad).toBeNull();
  });
});

describe('fields by path', () => {
  const names = [
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'a.__proto__.b',
    'a\\.b',
  ];
  const odd = planOf({ views: { v: { groupBy: names, aggregates: N } } });

  it('are own properties only', () => {
    const values = Object.values(valuesOf(odd, '{"a":{}}'));
    expect(values).toEqual(Array.from({ length: 6 }, () => undefined));
  });

  it('are found whatever their names', () => {
    const text =
      '{"__proto__":"p","constructor":"c","toString":"t","hasOwnProperty":"h","a":{"__proto__":{"b":"x"}},"a.b":"y"}';
    expect(valuesOf(odd, text)).toEqual({
      ['__proto__']: 'p',
      constructor: 'c',
      toString: 't',
      hasOwnProperty: 'h',
      'a/__proto__/b': 'x',
      'a.b': 'y',
    });
    expect(Object.prototype).not.toHaveProperty('b');
  });

  it('are absent inside arrays and scalars', () => {
    const nested = planOf({ views: { v: { groupBy: ['a.length', 'a.0'], aggregates: N } } });
    for (const a of ['[1,2]', '"text"', '5', 'null', 'true', '{}']) {
      expect(Object.values(valuesOf(nested, `{"a":${a}}`))).toEqual([undefined, undefined]);
    }
  });
});

describe('a record that is not JSON', () => {
  it.each([
    ['', 'the record has no data: the producer put an empty record'],
    ['hello', 'the data is not JSON: "hello"'],
    [
      '{"a":1',
      'the data is not JSON: "{\\"a\\":1"; it is JSON that is cut off: its brackets or quotes are not closed',
    ],
    [
      "{'a':1}",
      'the data is not JSON: "{\'a\':1}"; its names are in single quotes, as Python prints a dict: json.dumps(…) writes JSON',
    ],
    [
      '{"a":1}{"a":2}',
      'the data is not JSON: "{\\"a\\":1}{\\"a\\":2}"; it is 2 JSON values in one record: have the producer put one record for each (Firehose and some agents join several)',
    ],
    [
      '{"a":NaN}',
      'the data is not JSON: "{\\"a\\":NaN}"; NaN, Infinity and undefined are no JSON: have the producer send null',
    ],
    ['{"a":01}', 'the data is not JSON: "{\\"a\\":01}"'],
    ['{"a":"\n"}', 'the data is not JSON: "{\\"a\\":\\"\\n\\"}"'],
  ])('such as %j is told by its text, not by the runtime’s message', (text, detail) => {
    expect(decode(flights, text).bad).toEqual({ reason: 'not-json', detail });
  });

  it('is shown by its two ends when it is long', () => {
    const detail = decode(flights, `{"a":"${'x'.repeat(5000)}`).bad?.detail ?? '';
    expect(detail).toMatch(
      /^the data is not JSON: it begins with "\{\\"a\\":\\"x+" and ends with "x+"; it is JSON that is cut off: /,
    );
    expect(detail.length).toBeLessThan(250);
  });

  it.each([
    [[0xff]],
    [[0x7b, 0x22, 0x80, 0x22, 0x7d]],
    [[0xc0, 0xaf]],
    [[0xed, 0xa0, 0x80]],
    [[0x22, 0xe2, 0x82]],
    [[0xfe, 0xff, 0x00, 0x7b]],
  ])('may be no UTF-8 at all: %j', (bytes) => {
    expect(decode(flights, Uint8Array.from(bytes)).bad).toEqual({
      reason: 'not-json',
      detail: expect.stringMatching(/^the data is not UTF-8, and so not JSON(;|$)/),
    });
  });

  it('never throws, however deep', () => {
    const depth = 400_000;
    const { bad } = decode(flights, `${'['.repeat(depth)}${']'.repeat(depth)}`);
    expect(['not-json', 'not-an-object']).toContain(bad?.reason);
    expect(decode(flights, '{"a":'.repeat(depth)).bad?.reason).toBe('not-json');
  });
});

describe('a record that is no object', () => {
  it.each([
    ['[]', 'an empty array'],
    ['"text"', '"text"'],
    ['5', '5'],
    ['null', 'null'],
    ['true', 'true'],
  ])('such as %s is refused', (text, found) => {
    expect(decode(flights, text).bad).toEqual({
      reason: 'not-an-object',
      detail: `found ${found}, expected one JSON object for each record`,
    });
  });
});

describe('a value of the wrong type', () => {
  it.each([
    ['{"delay":"12"}', 'wrong-type', 'field "delay": found "12", expected a number or null'],
    ['{"delay":true}', 'wrong-type', 'field "delay": found true, expected a number or null'],
    ['{"delay":{}}', 'wrong-type', 'field "delay": found an object, expected a number or null'],
    ['{"delay":[1]}', 'wrong-type', 'field "delay": found an array, expected a number or null'],
    [
      '{"delay":1e999}',
      'not-finite',
      'field "delay": found a number beyond 1.8e308, expected a finite one',
    ],
    [
      '{"delay":-1e999}',
      'not-finite',
      'field "delay": found a number beyond 1.8e308, expected a finite one',
    ],
    [
      '{"origin":{"a":1}}',
      'wrong-type',
      'field "origin": found an object, expected a string, a number, a boolean or null',
    ],
    [
      '{"origin":[]}',
      'wrong-type',
      'field "origin": found an empty array, expected a string, a number, a boolean or null',
    ],
    [
      '{"origin":1e999}',
      'not-finite',
      'field "origin": found a number beyond 1.8e308, expected a finite one',
    ],
    [
      '{"origin":9007199254740993}',
      'integer-too-large',
      'field "origin": found an integer beyond 2^53, which cannot be told from its neighbours; send it as a string',
    ],
    ['{"origin":-9007199254740992}', 'integer-too-large', expect.any(String)],
    ['{"origin":1e300}', 'integer-too-large', expect.any(String)],
  ])('%s is told by field, found and expected', (text, reason, detail) => {
    expect(decode(flights, text).bad).toEqual({ reason, detail });
  });

  it('is cut short in the message', () => {
    const detail = decode(flights, `{"delay":"${'é'.repeat(10_000)}"}`).bad?.detail ?? '';
    expect(detail).toContain('… (10000 characters), expected a number');
    expect(detail.length).toBeLessThan(160);
  });

  it('is none in a field that is only counted, unless another view adds or groups by it', () => {
    const counted = { n: { count: 'x' } };
    const record = '{"x":{"a":1}}';
    expect(valuesOf(planOf({ views: { v: { aggregates: counted } } }), record)).toEqual({
      x: true,
    });
    const added = planOf({
      views: { v: { aggregates: counted }, w: { aggregates: { s: { sum: 'x' } } } },
    });
    expect(decode(added, record).bad?.reason).toBe('wrong-type');
    const grouped = planOf({
      views: { v: { aggregates: counted }, w: { groupBy: ['x'], aggregates: N } },
    });
    expect(decode(grouped, record).bad?.reason).toBe('wrong-type');
    expect(valuesOf(grouped, '{"x":"text"}')).toEqual({ x: 'text' });
  });
});

describe('categories', () => {
  const stream = planOf({
    category: { field: 'type' },
    views: {
      flights: { category: 'flight', groupBy: ['id'], aggregates: { total: { sum: 'size' } } },
      parcels: { category: 'parcel', groupBy: ['size'], aggregates: N },
      all: { groupBy: ['region'], aggregates: N },
    },
  });

  it('have their own shapes: only fields of views that select the record are checked', () => {
    const parcel = '{"type":"parcel","id":{"no":1},"size":"XL"}';
    expect(valuesOf(stream, parcel)).toEqual({ id: undefined, region: undefined, size: 'XL' });
    expect(decode(stream, parcel.replace('parcel', 'flight')).bad?.reason).toBe('wrong-type');
  });

  it('that no view names are checked as the views of all records want', () => {
    const other = '{"type":"other","id":{},"size":[],"region":"eu"}';
    expect(valuesOf(stream, other)).toEqual({ id: undefined, region: 'eu', size: undefined });
    expect(decode(stream, '{"type":"other","region":{}}').bad?.reason).toBe('wrong-type');
    expect(valuesOf(stream, '{"type":"__proto__","region":1}')).toMatchObject({ region: 1 });
  });

  it('are strings, or absent', () => {
    expect(decode(stream, '{"type":"flight"}').fields.category).toBe('flight');
    expect(decode(stream, '{"type":null}').fields.category).toBeNull();
    expect(decode(stream, '{}').fields.category).toBeNull();
    expect(decode(stream, '{"type":7}').bad).toEqual({
      reason: 'wrong-type',
      detail: 'field "type": found 7, expected a string (the category)',
    });
  });
});

describe('event time', () => {
  const timed = planOf({ time: { field: 'at.time', zone: 'America/New_York' } });

  it('is read from numbers and ISO 8601 text', () => {
    expect(decode(timed, '{"at":{"time":978307260000.7}}').fields.timeMs).toBe(978_307_260_000);
    expect(decode(timed, '{"at":{"time":"2001-01-01T00:01Z"}}').fields.timeMs).toBe(
      978_307_260_000,
    );
    expect(decode(timed, '{"at":{"time":"2001-01-01"}}').fields.timeMs).toBe(978_325_200_000);
    const seconds = planOf({ time: { field: 't', unit: 's' } });
    expect(decode(seconds, '{"t":978307260.123}').fields.timeMs).toBe(978_307_260_123);
  });

  it.each([
    ['{}', 'nothing'],
    ['{"at":{"time":null}}', 'null'],
    ['{"at":{"time":"yesterday"}}', '"yesterday"'],
    ['{"at":{"time":1e999}}', 'Infinity'],
    ['{"at":{"time":9e17}}', '900000000000000000'],
    ['{"at":{"time":true}}', 'true'],
  ])('cannot be read from %s', (text, found) => {
    expect(decode(timed, text).bad).toEqual({
      reason: 'no-time',
      detail: `field "at.time": found ${found}, expected ISO 8601 text such as "2026-07-01T10:00:00Z" or a number of milliseconds since 1970, of a year from 0 to 9999`,
    });
  });

  it.each([
    ['978307260000', 'of a year from 0 to 9999; it is a number as text: send it without quotes'],
    ['1711900000', 'without quotes; as seconds it is 2024-03-31T15:46:40Z: is time.unit "s"?'],
    ['2024-02-30', 'of a year from 0 to 9999; there is no day 2024-02-30'],
    ['20260701T100000', '; write "2026-07-01T10:00:00", with hyphens and colons'],
  ])('says what to do about the text %s', (text, advice) => {
    const { bad } = decode(timed, JSON.stringify({ at: { time: text } }));
    expect(bad?.reason).toBe('no-time');
    expect(bad?.detail.endsWith(advice)).toBe(true);
  });

  it('says which unit a number beyond all years was probably meant in', () => {
    expect(decode(timed, '{"at":{"time":978307260000000}}').bad?.detail).toContain(
      'of a year from 0 to 9999; as microseconds it is 2001-01-01T00:01:00Z: send milliseconds',
    );
    const seconds = planOf({ time: { field: 't', unit: 's' } });
    expect(decode(seconds, '{"t":1717171717000}').bad?.detail).toContain(
      '; as milliseconds it is 2024-05-31T16:08:37Z: is time.unit "ms"?',
    );
  });

  it('is not asked for where the plan uses arrival time', () => {
    expect(decode(flights, '{}').fields.timeMs).toBeNull();
  });
});

describe('the dedupe id', () => {
  const deduped = planOf({ dedupe: { id: 'id', within: '5m' } });
  const idOf = (id: string): string | null => {
    const { bad, fields } = decode(deduped, `{"id":${id}}`);
    expect(bad).toBeNull();
    return fields.dedupeId;
  };

  it('tells numbers from strings, and nothing else', () => {
    expect(idOf('7')).not.toBe(idOf('"7"'));
    expect(idOf('7')).toBe(idOf('7.0'));
    expect(idOf('-0')).toBe(idOf('0'));
    expect(idOf('"a"')).toBe(idOf('"\\u0061"'));
    expect(idOf('"\\"7"')).not.toBe(idOf('"7"'));
    expect(idOf('9007199254740991')).not.toBe(idOf('9007199254740990'));
  });

  it.each([
    ['{}', 'no-dedupe-id', 'field "id": found nothing, expected an id: a string or an integer'],
    ['{"id":null}', 'no-dedupe-id', expect.stringContaining('found null')],
    ['{"id":""}', 'no-dedupe-id', expect.stringContaining('found ""')],
    ['{"id":true}', 'wrong-type', 'field "id": found true, expected a string or an integer'],
    ['{"id":1.5}', 'wrong-type', 'field "id": found 1.5, expected a string or an integer'],
    ['{"id":{}}', 'wrong-type', expect.any(String)],
    [
      '{"id":9007199254740993}',
      'integer-too-large',
      expect.stringContaining('send it as a string'),
    ],
    ['{"id":1e999}', 'not-finite', expect.any(String)],
  ])('is missing or wrong in %s', (text, reason, detail) => {
    expect(decode(deduped, text).bad).toEqual({ reason, detail });
  });

  it('is null where the plan does not dedupe', () => {
    expect(decode(flights, '{"id":7}').fields.dedupeId).toBeNull();
  });
});

describe('a field that one view groups by and another adds', () => {
  const both = planOf({
    views: {
      by: { groupBy: ['a'], aggregates: N },
      sums: { aggregates: { total: { sum: 'a' } } },
    },
  });

  it.each([
    ['{"a":9007199254740992}', 'integer-too-large'],
    ['{"a":"text"}', 'wrong-type'],
    ['{"a":1e999}', 'not-finite'],
    ['{"a":7}', undefined],
    ['{}', undefined],
  ])('must do for both: %s', (text, reason) => {
    expect(decode(both, text).bad?.reason).toBe(reason);
  });
});
