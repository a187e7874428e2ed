import { describe, expect, it } from 'vitest';
import { PartitionKeys } from '../../../cli/partition-key.ts';
import { RecordFileError } from '../../../cli/records/file-record.ts';
import { UsageError } from '../../../cli/usage-error.ts';

function keyOf(field: string, data: string | Uint8Array): string {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  return new PartitionKeys(field, 'a.ndjson').keyOf({ data: bytes, unit: 'line', number: 7 });
}

describe('a partition key', () => {
  it.each([
    ['a', '{"a":"x"}', 'x'],
    ['a', '\ufeff{"a":"x"}', 'x'],
    ['a', '{"a":1.50}', '1.5'],
    ['a', '{"a":true}', 'true'],
    ['a', '{"a":9007199254740993,"b":{"a":9007199254740995}}', '9007199254740993'],
    ['b.a', '{"a":9007199254740993,"b":{"a":9007199254740995}}', '9007199254740995'],
    ['a.b', '{"a":{"b":"nested"},"a.b":"flat"}', 'nested'],
    ['a\\.b', '{"a":{"b":"nested"},"a.b":"flat"}', 'flat'],
    ['__proto__', '{"__proto__":"own"}', 'own'],
    ['a', '{"a":null}', '-'],
    ['a', '{"a":""}', '-'],
    ['a', '{"a":[1]}', '-'],
    ['a', 'not json', '-'],
    ['a', '[{"a":1}]', '-'],
    ['a', '{"a":"\\ufffd"}', '\ufffd'],
  ])('by %s of %s is %s', (field, data, key) => {
    expect(keyOf(field, data)).toBe(key);
  });

  it.each([`1${'0'.repeat(309)}`, `-1${'0'.repeat(308)}1`, '1e400', '-2E+999'])(
    'of a number that no double holds has its characters: %s',
    (text) => {
      expect(keyOf('a', `{"a":${text}}`)).toBe(text.slice(0, 256));
      expect(keyOf('a.b', `{"a":{"b":${text}}}`)).toBe(text.slice(0, 256));
    },
  );

  it('is cut to what Kinesis takes, between characters', () => {
    const text = `${'x'.repeat(255)}😀`;

    expect(keyOf('a', JSON.stringify({ a: text }))).toBe('x'.repeat(255));
    expect(keyOf('a', JSON.stringify({ a: 'y'.repeat(300) }))).toBe('y'.repeat(256));
  });

  it.each([
    ['bytes that are no UTF-8', Buffer.from('{"a":"K\xf6ln"}', 'latin1')],
    ['half of a surrogate pair', '{"a":"\\ud800"}'],
  ])('that is %s is refused by line: it would become one with others', (_, data) => {
    expect(() => keyOf('a', data)).toThrow(RecordFileError);
    expect(() => keyOf('a', data)).toThrow(
      /^a\.ndjson, line 7: the value of --key a is not valid UTF-8/,
    );
  });

  it('is taken from a record that is no UTF-8 elsewhere', () => {
    expect(keyOf('a', Buffer.from('{"a":"x","b":"\xf6"}', 'latin1'))).toBe('x');
  });

  it.each([
    [
      'http.method',
      '{"http.method":"GET"}',
      "it has http\\.method; did you mean --key 'http\\.method'?",
    ],
    ['http\\.method', '{"http":{"method":"GET"}}', "did you mean --key 'http.method'?"],
    ['order', '{"detail":{"order":1}}', "did you mean --key 'detail.order'?"],
    ['its', '{"it\'s":{"its":1}}', "did you mean --key 'it'\\''s.its'?"],
    ['order', '{"Order":1}', "did you mean --key 'Order'?"],
    ['order', '{}', 'the first record has no such field; it has none'],
  ])(
    'by a field that the first record lacks is wrong usage, with the likely one: %s',
    (field, data, says) => {
      expect(() => keyOf(field, data)).toThrow(UsageError);
      expect(() => keyOf(field, data)).toThrow(says);
    },
  );

  it('may be missing from a record once another had it', () => {
    const keys = new PartitionKeys('a', 'a.ndjson');
    for (const data of ['{"a":1}', '{"b":1}', '{"a":{"c":1}}']) {
      keys.keyOf({ data: Buffer.from(data), unit: 'line', number: 1 });
    }

    expect(keys.withoutKey).toBe(2);
  });

  it.each(['', 'a..b', '*', 'a\\b'])('by no field is wrong usage: %j', (field) => {
    expect(() => new PartitionKeys(field, 'f')).toThrow(UsageError);
  });
});
