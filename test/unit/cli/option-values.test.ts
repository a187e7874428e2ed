import { Command, InvalidArgumentError, type Option } from 'commander';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  adminUrlOption,
  collect,
  DEFAULT_URL,
  kinesisEndpointOption,
  queryUrlOption,
  url,
  wholeNumber,
} from '../../../cli/option-values.ts';

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

describe('a variable of the environment', () => {
  afterEach(() => vi.unstubAllEnvs());

  const parsed = (option: Option) =>
    new Command().addOption(option).parse([], { from: 'user' }).opts()[option.attributeName()];

  it.each([
    ['TIDEMARK_QUERY_URL', queryUrlOption, DEFAULT_URL],
    ['TIDEMARK_ADMIN_URL', adminUrlOption, undefined],
    ['AWS_ENDPOINT_URL_KINESIS', kinesisEndpointOption, DEFAULT_URL],
  ] as const)('%s that is empty counts as unset', (variable, option, expected) => {
    vi.stubEnv(variable, '');
    expect(parsed(option())).toBe(expected);
    vi.stubEnv(variable, 'http://127.0.0.1:7/');
    expect(parsed(option())).toBe('http://127.0.0.1:7');
  });
});
