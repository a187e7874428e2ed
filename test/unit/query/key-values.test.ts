import { describe, expect, it } from 'vitest';
import { readKeyPrefix, readKeyValues } from '../../../core/query/key-values.ts';
import { Refused } from '../../../core/query/query-problem.ts';

const problemOf = (read: () => unknown) => {
  try {
    read();
  } catch (error) {
    if (error instanceof Refused) return error.problem;
    throw error;
  }
  throw new Error('was taken');
};

describe('a key that is asked for', () => {
  it.each<[string, unknown[]]>([
    ['10115', [10_115, '10115']],
    ['1.10', [1.1, '1.10']],
    ['1e3', [1000, '1e3']],
    ['-2.5', [-2.5, '-2.5']],
    ['-0', [0, '-0']],
    ['0', [0, '0']],
    ['true', [true, 'true']],
    ['false', [false, 'false']],
    ['null', [null, 'null']],
    ['9007199254740991', [9_007_199_254_740_991, '9007199254740991']],
    // No JSON literal: text alone.
    ['00501', ['00501']],
    ['+5', ['+5']],
    ['.5', ['.5']],
    ['NaN', ['NaN']],
    ['0x10', ['0x10']],
    ['True', ['True']],
    ['LAX', ['LAX']],
    ['', ['']],
    [' 7', [' 7']],
    ['7 ', ['7 ']],
    ['New York', ['New York']],
    ["O'Hare", ["O'Hare"]],
    ['a"b', ['a"b']],
    // Beyond what a number key can be exactly: no record has it as a number.
    ['9007199254740993', ['9007199254740993']],
    ['123456789012345678', ['123456789012345678']],
    ['1e400', ['1e400']],
    // A JSON string is text alone, an array of one value is that value alone.
    ['"10115"', ['10115']],
    ['"null"', ['null']],
    ['""', ['']],
    ['"say \\"x\\""', ['say "x"']],
    ['[10115]', [10_115]],
    ['[-0]', [0]],
    ['[null]', [null]],
    ['[true]', [true]],
    ['["10115"]', ['10115']],
    ['[info]', ['[info]']],
  ])('as %s is %o', (text, values) => {
    const found = readKeyValues('key.account', text);
    expect(found).toEqual(values);
    expect(found.some((value) => Object.is(value, -0))).toBe(false);
  });

  it.each([
    ['"x', 'wrong-key'],
    ['[1,2]', 'wrong-key'],
    ['[]', 'wrong-key'],
    ['[[1]]', 'wrong-key'],
    ['{"a":1}', 'wrong-key'],
    ['[9007199254740993]', 'number-too-large'],
    ['[1e400]', 'number-too-large'],
  ])('as %s is refused', (text, code) => {
    expect(problemOf(() => readKeyValues('key.account', text))).toMatchObject({
      code,
      path: 'key.account',
      found: text,
    });
  });
});

describe('a prefix that is asked for', () => {
  it('is text of any type, or with quotes around it of text alone', () => {
    expect(readKeyPrefix('prefix', '101')).toEqual({ text: '101', textOnly: false });
    expect(readKeyPrefix('prefix', '[1')).toEqual({ text: '[1', textOnly: false });
    expect(readKeyPrefix('prefix', '"101"')).toEqual({ text: '101', textOnly: true });
    expect(readKeyPrefix('prefix', '"\\"x"')).toEqual({ text: '"x', textOnly: true });
    expect(problemOf(() => readKeyPrefix('prefix', '"101'))).toMatchObject({ code: 'wrong-key' });
  });
});
