import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterPrefix,
  FIRST_KEY,
  justAfter,
  keyOfText,
  LAST_KEY,
  textOfKey,
} from '../../../adapters/aws/dynamodb/key-text.ts';
import { compareBytes, encodeText } from '../../../core/bytes.ts';
import { ODD_TEXTS } from '../../contract/contract.ts';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.string({ unit: fc.constantFrom('a', '!', '~', '#', '\0', '\ud800', '\udfff', '🛫', '0') }),
  fc.constantFrom(...ODD_TEXTS),
);

function order(a: string, b: string): number {
  return Math.sign(compareBytes(encodeText(a), encodeText(b)));
}

describe('keyOfText', () => {
  it('leaves what ids are made of', () => {
    for (const usual of ['slice-000000000001', '001700000000123-2ee24361851bc86b', 'a/b_c.D']) {
      expect(keyOfText(usual)).toBe(usual);
    }
  });

  it('escapes the rest, so that a key is printable ASCII and # is free', () => {
    expect(keyOfText('')).toBe('!');
    expect(keyOfText('a#b !~')).toBe('a!23b!20!21~7e');
    expect(keyOfText('ü\0')).toBe('~c3~bc!00');
    expect(keyOfText('\ud800')).toBe('~ed~a0~80');
    fc.assert(fc.property(text, (any) => /^[!$-~]+$/.test(keyOfText(any))));
  });

  it('is undone by textOfKey', () => {
    fc.assert(fc.property(text, (any) => textOfKey(keyOfText(any)) === any));
  });

  it('keeps the order of bytes, so that no two texts have one key', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(order(keyOfText(a), keyOfText(b))).toBe(order(a, b));
      }),
    );
  });

  it('makes keys between the first and the last', () => {
    fc.assert(
      fc.property(text, (any) => {
        const key = keyOfText(any);
        return FIRST_KEY <= key && key < LAST_KEY && key < afterPrefix(key);
      }),
    );
  });

  it('leaves room just after a key, before all that follow', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const [key, mark] = [keyOfText(b), justAfter(keyOfText(a))];
        return order(b, a) > 0 ? key >= mark : key < mark;
      }),
    );
  });
});

describe('textOfKey', () => {
  it.each(['#', 'a!', 'a!2', '!zz', '~C3', 'ü', 'a b'])('refuses %s, which nobody wrote', (key) => {
    expect(() => textOfKey(key)).toThrow('the table has a key that Tidemark does not write');
  });
});
