import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBytes } from '../../core/bytes.ts';
import { CorruptStateFault } from '../../core/faults.ts';
import {
  decodeGroupKey,
  encodeGroupKey,
  type GroupValue,
  groupMapKey,
  groupValuesOf,
  mapKeyOf,
} from '../../core/state/group-key.ts';

// Texts that share prefixes, hold NUL and lone surrogates, or look like a map key or a name with a meaning.
const anyText = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '\0', '\xff', '\ud800', '\udc00', '\ue000', '😀') }),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom('__proto__', 'constructor', 's1:a', 'n1:1', 'z0:', '', '1', 'null', 'true'),
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

  it('come back from their map key, which is the same for equal values only', () => {
    fc.assert(
      fc.property(anyKeys, (keys) => {
        const bytesOf = new Map<unknown, string>();
        for (const key of keys.map(plain)) {
          const mapKey = mapKeyOf(key);
          expect(groupValuesOf(mapKey, key.length)).toEqual(key);
          const bytes = encodeGroupKey(key).join();
          expect(bytesOf.get(mapKey) ?? bytes).toBe(bytes);
          bytesOf.set(mapKey, bytes);
        }
        expect(new Set(bytesOf.values()).size).toBe(bytesOf.size);
      }),
    );
  });

  it('have the map key of their record fields, absent ones as null', () => {
    const anyFields = fc.array(fc.option(anyValue, { nil: undefined }), { maxLength: 4 });
    fc.assert(
      fc.property(anyFields, (fields) => {
        // Decoders never give −0.
        const values = fields.map((value) => (value === 0 ? 0 : value));
        const groupBy = values.map((_, field) => ({ field }));
        const key = values.map((value) => value ?? null);
        expect(groupMapKey(groupBy, values)).toEqual(mapKeyOf(key));
      }),
    );
  });

  it('are data: names of Object.prototype are keys like any other', () => {
    const table = new Map([[mapKeyOf(['__proto__']), 1]]);
    expect(table.get(mapKeyOf(['__proto__']))).toBe(1);
    expect(table.get(mapKeyOf(['constructor']))).toBeUndefined();
    expect(mapKeyOf(['1'])).not.toBe(mapKeyOf([1]));
    expect(mapKeyOf(['a', 'bs1:c'])).not.toBe(mapKeyOf(['as1:b', 'c']));
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
