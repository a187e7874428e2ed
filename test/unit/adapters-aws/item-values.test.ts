import { describe, expect, it } from 'vitest';
import {
  bytesOf,
  bytesValue,
  type Item,
  itemByteLength,
  numberOf,
  numberValue,
  packedOf,
  packedValue,
  textOf,
  textValue,
} from '../../../adapters/aws/dynamodb/item-values.ts';
import { ODD_TEXTS } from '../../contract/contract.ts';

const KEY: Item = { pk: { S: 'plan' }, sk: { S: 'active' } };

describe('values of attributes', () => {
  it('text is a string attribute unless half of a surrogate pair is in it', () => {
    expect(textValue('🛫 null \0')).toEqual({ S: '🛫 null \0' });
    expect(textValue('\ud800')).toEqual({ B: Uint8Array.from([0xed, 0xa0, 0x80]) });
  });

  it('any text comes back, packed or not', () => {
    for (const text of [...ODD_TEXTS, 'x'.repeat(100_000)]) {
      expect(textOf({ text: textValue(text) }, 'text')).toBe(text);
      expect(packedOf({ text: packedValue(text) }, 'text')).toBe(text);
    }
  });

  it('packed text is small', () => {
    expect(packedValue('ü'.repeat(300_000)).B?.length).toBeLessThan(2_000);
  });

  it('bytes share no buffer with what was given or what the SDK gave', () => {
    const buffer = Uint8Array.from([1, 2, 3, 4]);
    const value = bytesValue(buffer.subarray(1, 3));
    buffer.fill(0);
    expect(value.B).toEqual(Uint8Array.from([2, 3]));
    const read = bytesOf({ body: { B: Buffer.from([1, 2, 3]).subarray(1) } }, 'body');
    expect(read).toEqual(Uint8Array.from([2, 3]));
    expect(read.buffer.byteLength).toBe(2);
  });

  it('an attribute that is missing, or no such value, is damage, and the item is named', () => {
    const item: Item = { ...KEY, a: { S: '1' }, n: { N: '1.5' }, b: { B: Uint8Array.from([9]) } };
    const reads = [
      ...[() => numberOf(item, 'a'), () => numberOf(item, 'n'), () => numberOf(item, 'none')],
      ...[() => textOf(item, 'n'), () => bytesOf(item, 'a'), () => packedOf(item, 'b')],
    ];
    for (const read of reads) {
      expect(read).toThrow(
        expect.objectContaining({
          name: 'CorruptStateFault',
          message: expect.stringMatching(/^the item plan \/ active has no sound attribute "/),
        }),
      );
    }
  });

  it('weighs names and values, numbers at their most', () => {
    expect(itemByteLength({})).toBe(0);
    expect(itemByteLength({ pk: { S: 'head#ü' } })).toBe(2 + 7);
    expect(itemByteLength({ rev: numberValue(12345) })).toBe(3 + 3 + 1);
    expect(itemByteLength({ body: { B: new Uint8Array(10) } })).toBe(4 + 10);
  });
});
