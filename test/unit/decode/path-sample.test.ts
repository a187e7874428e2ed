import { describe, expect, it } from 'vitest';
import { PathSample, SAMPLE_RECORDS } from '../../../core/decode/path-sample.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';

const N = { n: { count: '*' } };

function sampleOf(part: object, records: readonly (object | string)[]): PathSample {
  const parsed = parsePlan({ name: 'p', ...part });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const sample = new PathSample(parsed.plan);
  for (const record of records) {
    sample.add(Buffer.from(typeof record === 'string' ? record : JSON.stringify(record)));
  }
  return sample;
}

function hints(part: object, records: readonly (object | string)[], withoutOther = false) {
  return sampleOf(part, records).hints({ withoutOther });
}

const by = (field: string) => ({ views: { v: { groupBy: [field], aggregates: N } } });

describe('a path that finds nothing in the first records', () => {
  it.each([
    ['http.method', { 'http.method': 'GET' }, 'http\\.method'],
    ['http\\.method', { http: { method: 'GET' } }, 'http.method'],
    ['a.b.c', { 'a.b': { c: 1 } }, 'a\\.b.c'],
    ['a.b.c', { a: { 'b.c': 1 } }, 'a.b\\.c'],
    ['a\\.b.c', { a: { b: { c: 1 } } }, 'a.b.c'],
    ['order', { detail: { order: 1 } }, 'detail.order'],
    ['order', { payload: { after: { order: 1 } } }, 'payload.after.order'],
    ['order.id', { Order: { ID: 1 } }, 'Order.ID'],
  ])('%s is told with where they have it: %o', (field, record, found) => {
    expect(hints(by(field), [record, record])).toEqual([
      { path: field, found, records: 2, text: expect.stringContaining(`they have ${found}: `) },
    ]);
  });

  it('is told in words that say what to write', () => {
    const [hint] = hints(by('http.method'), [{ 'http.method': 'GET' }]);

    expect(hint?.text).toBe(
      "field http.method, by which view 'v' groups, is not in the first record; they have http\\.method: " +
        "a dot reaches into a nested field, and a dot that belongs to a name is written \\. (in the pipeline file 'http\\\\.method')",
    );
  });

  it('names the envelope around the records', () => {
    const event = { 'detail-type': 'Order', source: 'shop', detail: { order: 1 } };

    expect(hints(by('order'), [event])[0]?.text).toContain(
      "they have detail.order: write 'detail.order' (each is an EventBridge event)",
    );
  });

  it('names a list that may hold the records that were meant', () => {
    expect(hints(by('order'), [{ events: [{ order: 1 }] }])[0]?.text).toContain(
      "; if the records are inside 'events': jq -c '.events[]' FILE | npx tidemark put - …",
    );
    expect(hints(by('order'), [{ "it's": [{ order: 1 }] }])[0]?.text).toContain(
      String.raw`: jq -c '.["it\u0027s"][]' FILE | npx`,
    );
    expect(hints(by('order'), [{ tags: ['a'] }])).toEqual([]);
    const two = { ...by('order'), time: { field: 'at' } };
    expect(hints(two, [{ events: [{ order: 1 }] }])).toHaveLength(1);
  });

  it('is no matter once a record has it', () => {
    const records = [{ 'http.method': 'GET' }, { http: { method: 'GET' } }];

    expect(hints(by('http.method'), records)).toEqual([]);
    expect(hints(by('a'), [{ a: null }])).toEqual([]);
  });

  it('and has nothing like it is told only where that is asked for', () => {
    expect(hints(by('carrier'), [{ a: 1 }])).toEqual([]);
    expect(hints(by('carrier'), [{ a: 1 }], true)).toEqual([
      {
        path: 'carrier',
        found: null,
        records: 1,
        text: "field carrier, by which view 'v' groups, is not in the first record",
      },
    ]);
  });

  it('is looked for in records of its category alone', () => {
    const part = {
      category: { field: 'kind' },
      views: {
        orders: { category: 'order', groupBy: ['order'], aggregates: N },
        all: { groupBy: ['shop'], aggregates: { n: { count: 'note' } } },
      },
    };
    const other = { kind: 'return', Order: 1, shop: 's', note: 1 };

    expect(hints(part, [other, other])).toEqual([]);
    expect(hints(part, [other, { ...other, kind: 'order' }])).toMatchObject([
      { path: 'order', found: 'Order', records: 1 },
    ]);
  });

  it('may be the time, the category, the dedupe id, or aggregated', () => {
    const part = {
      time: { field: 'at.ms' },
      category: { field: 'a.kind' },
      dedupe: { id: 'a.id', within: '1h' },
      views: { v: { aggregates: { t: { sum: 'a.price' } } } },
    };
    const record = { 'at.ms': 1, 'a.kind': 'k', 'a.id': 'i', 'a.price': 1 };

    expect(hints(part, [record]).map(({ text }) => text.split(' is not')[0])).toEqual([
      'field at.ms, the time,',
      'field a.kind, the category,',
      'field a.id, the dedupe id,',
      "field a.price, which view 'v' aggregates,",
    ]);
  });
});

it('a sample looks at so many objects and no more', () => {
  const sample = sampleOf(by('a'), ['not json', '[1]', ...Array(SAMPLE_RECORDS - 1).fill({})]);
  expect(sample.isFull).toBe(false);
  sample.add(Buffer.from('{}'));
  expect(sample.isFull).toBe(true);
  sample.add(Buffer.from('{"a":1}'));

  expect(sample.hints({ withoutOther: true })).toMatchObject([{ records: SAMPLE_RECORDS }]);
});
