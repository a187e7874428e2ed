import { describe, expect, it } from 'vitest';
import { keyText, printableJson, printableLines } from '../../../cli/printable.ts';

describe('a group key in a table', () => {
  it.each([
    ['LAX', 'LAX'],
    ['New York', 'New York'],
    ["O'Hare", "O'Hare"],
    ['00501', '00501'],
    ['日本語', '日本語'],
    // A number is no amount: the year 2024 has no thousands.
    [2024, '2024'],
    [1_234_567.99, '1234567.99'],
    ['2024', '"2024"'],
    ['1e3', '"1e3"'],
    [null, 'null'],
    ['null', '"null"'],
    [true, 'true'],
    ['true', '"true"'],
    ['', '""'],
    [' x', '" x"'],
    ['"x"', '"\\"x\\""'],
    ['[1]', '"[1]"'],
    ['[x]', '[x]'],
    ['a\u001b[2J', '"a\\u001b[2J"'],
    ['a\nb', '"a\\nb"'],
    ['a\u009bm', '"a\\u009bm"'],
    ['a\u202eb', '"a\\u202eb"'],
  ])('%j is %s', (key, text) => {
    expect(keyText(key)).toBe(text);
  });

  it('looks like no other, and means the same when it is asked for', () => {
    const keys = ['7', 7, '"7"', '', ' ', 'null', null, 'a\u200b', 'a', 'a\\u200b'];
    expect(new Set(keys.map(keyText)).size).toBe(keys.length);
  });
});

describe('what is printed', () => {
  it('is JSON of the same value without a character that a terminal obeys', () => {
    const value = { key: 'a\u001b\u007f\u009b\u202e\u2028é', n: [1.5] };
    const text = printableJson(value, 2);
    expect(text).toMatch(/^[\n\x20-\x7eé]+$/);
    expect(JSON.parse(text)).toEqual(value);
  });

  it('keeps the lines of a message', () => {
    expect(printableLines('wrong \u001b[31m\n  found x')).toBe('wrong \\u001b[31m\n  found x');
  });
});
