import { describe, expect, it } from 'vitest';
import { formatTable, numberText } from '../../../cli/table.ts';

describe('a table', () => {
  it('puts numbers to the right, with thousands apart, and everything else to the left', () => {
    const rows = [
      ['LAX', 1_234_567],
      ['ORD', 7],
    ];

    expect(formatTable(['from', 'flights'], rows)).toBe(
      ['from    flights', '───────────────', 'LAX   1,234,567', 'ORD           7'].join('\n'),
    );
  });

  it('prints all digits that JSON has, and shows what is absent as a dash', () => {
    const values = [1_234_567.99, 1 / 3, 52.520_008, 52.520_012, 0.1 + 0.2, -1_000_000, null];
    const lines = formatTable(
      ['mean'],
      values.map((value) => [value]),
    ).split('\n');
    expect(lines.slice(2).map((line) => line.trim())).toEqual([
      '1,234,567.99',
      '0.3333333333333333',
      '52.520008',
      '52.520012',
      '0.30000000000000004',
      '-1,000,000',
      '–',
    ]);
  });

  it('marks what is not exact', () => {
    const lines = formatTable(['sum'], [[{ approximately: 2 ** 53 }], [7]]).split('\n');
    expect(lines.slice(2)).toEqual(['≈ 9,007,199,254,740,992', '                      7']);
  });

  it('aligns texts that take two columns a character', () => {
    const rows = [
      ['日本語', 1],
      ['e\u0301te\u0301', 2],
      ['👩‍👩‍👧', 3],
    ];
    expect(formatTable(['key', 'n'], rows).split('\n').slice(2)).toEqual([
      '日本語  1',
      'e\u0301te\u0301     2',
      '👩‍👩‍👧      3',
    ]);
  });

  it('cuts texts to the width of a terminal, never numbers, and says which and how to see them whole', () => {
    const rows = [['k'.repeat(4_000), 'a detail of thirty characters.', 1_234_567.891]];
    const lines = formatTable(['key', 'detail', 'sum'], rows, { width: 60 }).split('\n');
    expect(lines.slice(0, 3).map((line) => line.length)).toEqual([60, 60, 60]);
    expect(lines[2]).toMatch(/^k+… {2}a detail.*… {2}1,234,567\.891$/);
    expect(lines[3]).toBe('cut to the width of the terminal: key, detail; --json has them whole');
    // Where no text can give way any more, the terminal wraps.
    const narrow = formatTable(['key', 'sum'], [['k'.repeat(50), 1_234_567.891]], { width: 10 });
    expect(narrow.split('\n')[2]).toBe(`${'k'.repeat(11)}…  1,234,567.891`);
    const fits = formatTable(['key', 'sum'], [['LAX', 1]], { width: 60 });
    expect(fits).toBe(formatTable(['key', 'sum'], [['LAX', 1]]));
  });

  it('cuts nothing where it goes to no terminal', () => {
    expect(formatTable(['key'], [['k'.repeat(4_000)]])).toContain('k'.repeat(4_000));
  });

  it('has its heading and nothing else without rows', () => {
    expect(formatTable(['a', 'bc'], [])).toBe('a  bc\n─────');
  });

  it('lets no control character of the data reach the terminal, in a heading neither', () => {
    const evil = 'a\u001b[2Jb\nc\u009bd\u202ee\u2028f\u200bg\ud800h';
    const shown = 'a\\u001b[2Jb\\u000ac\\u009bd\\u202ee\\u2028f\\u200bg\\ud800h';
    const lines = formatTable([evil], [[evil]]).split('\n');
    expect([lines[0], lines[2]]).toEqual([shown, shown]);
  });
});

describe('a number', () => {
  it.each([
    [0, '0'],
    [-0, '0'],
    [999, '999'],
    [1000, '1,000'],
    [-1234.5, '-1,234.5'],
    [0.000_12, '0.00012'],
    [1.5e-7, '1.5e-7'],
    [1e21, '1e+21'],
    [12_345_678.123_456_7, '12,345,678.1234567'],
  ])('%d is written as %s', (value, text) => {
    expect(numberText(value)).toBe(text);
  });
});
