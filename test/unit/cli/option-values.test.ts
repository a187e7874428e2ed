import { InvalidArgumentError } from 'commander';
import { describe, expect, it } from 'vitest';
import { collect, url, wholeNumber } from '../../../cli/option-values.ts';

describe('a whole number', () => {
  it.each([
    ['0', 0],
    ['65535', 65_535],
  ])('takes %s', (text, value) => {
    expect(wholeNumber(0, 65_535)(text)).toBe(value);
  });

  it.each(['-1', '65536', '1.5', '1e3', '0x10', '', ' 1', 'many'])('refuses %j', (text) => {
    expect(() => wholeNumber(0, 65_535)(text)).toThrow(InvalidArgumentError);
    expect(() => wholeNumber(0, 65_535)(text)).toThrow('a whole number from 0 to 65535');
  });
});

describe('a URL', () => {
  it('loses the slashes at its end, so that paths can follow', () => {
    expect(url('http://127.0.0.1:4580/')).toBe('http://127.0.0.1:4580');
    expect(url('https://example.com/stage//')).toBe('https://example.com/stage');
  });

  it.each(['127.0.0.1:4580', 'localhost', 'ftp://host', ''])('is not %j', (text) => {
    expect(() => url(text)).toThrow(InvalidArgumentError);
  });
});

it('collects an option that is given several times, in order', () => {
  expect(collect('b', collect('a', undefined))).toEqual(['a', 'b']);
});
