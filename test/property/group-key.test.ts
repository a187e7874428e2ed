import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBytes } from '../../core/bytes.ts';
import { CorruptStateFault } from '../../core/faults.ts';
import {
  decodeGroupKey,
  encodeGroupKey,
  GroupKeyBuffer,
  type GroupValue,
  groupValuesOf,
} from '../../core/state/group-key.ts';
import { hashKey } from '../../core/state/key-table.ts';

// Texts that share prefixes, hold NUL and lone surrogates, or look like a name with a meaning.
const anyText = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '\0', '\xff', '\ud800', '\udc00', '\ue000', '😀') }),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom('__proto__', 'constructor', '', '1', 'null', 'true'),
);
const anyNumber = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(0, -0, 1e-320, -1e-320, 1.7e308, -1.7e308, 255, 256, 2 ** 53 - 1),
);
const anyValue: fc.Arbitrary<GroupValue> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  anyNumber,
  anyText,
);
const anyKeys = fc
  .integer({ min: 0, max: 4 })
  .chain((length) => fc.array(fc.array(anyValue, { minLength: length, maxLength: length })));

const rankOf = (value: GroupValue): number =>
  value === null ? 0 : value === false ? 1 : value === true ? 2 : typeof value === 'number' ? 3 : 4;

function compareText(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const difference =
      (left[index]?.codePointAt(0) as number) - (right[index]?.codePointAt(0) as number);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function compareValues(a: readonly GroupValue[], b: readonly GroupValue[]): number {
  for (const [index, left] of a.entries()) {
    const right = b[index] as GroupValue;
    const byKind = rankOf(left) - rankOf(right);
    if (byKind !== 0) return byKind;
    if (typeof left === 'number' && left !== right) return left < (right as number) ? -1 : 1;
    if (typeof left === 'string' && left !== right) return compareText(left, right as string);
  }
  return 0;
}

const plain = (values: readonly GroupValue[]) =>
  values.map((value) => (value === 0 ? 0 : value)) as GroupValue[];

describe('group keys', () => {
  it('have bytes that sort as the values do, and are equal for equal values only', () => {
    fc.assert(
      fc.property(anyKeys, (keys) => {
        for (const a of keys) {
          for (const b of keys) {
            const found = compareBytes(encodeGroupKey(a), encodeGroupKey(b));
            expect(Math.sign(found)).toBe(Math.sign(compareValues(a, b)));
          }
        }
      }),
      { numRuns: 400 },
    );
  });

  it('come back from their bytes, −0 as 0', () => {
    fc.assert(
      fc.property(anyKeys, (keys) => {
        for (const key of keys) expect(decodeGroupKey(encodeGroupKey(key))).toEqual(plain(key));
      }),
    );
  });

  it('are written from record fields with the same bytes and hash, absent fields as null', () => {
    const anyFields = fc.array(fc.option(anyValue, { nil: undefined }), { maxLength: 4 });
    const buffer = new GroupKeyBuffer();
    fc.assert(
      fc.property(anyFields, (fields) => {
        const groupBy = fields.map((_, field) => ({ field }));
        buffer.write(groupBy, fields);
        const key = encodeGroupKey(groupValuesOf(groupBy, fields));
        expect([...buffer.bytes.subarray(0, buffer.length)]).toEqual([...key]);
        expect(buffer.hash).toBe(hashKey(key));
      }),
    );
  });

  it.each([
    ['an unknown tag', [6]],
    ['half a number', [4, 0x80, 0]],
    ['a string without an end', [5, 0x61]],
    ['a string that ends in an escape', [5, 0x00, 0xff]],
    ['a string that is not UTF-8', [5, 0x80, 0x00]],
  ])('are refused where their bytes are %s', (_, bytes) => {
    expect(() => decodeGroupKey(Uint8Array.from(bytes))).toThrow(CorruptStateFault);
  });
});
