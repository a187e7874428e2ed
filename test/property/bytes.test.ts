import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter, compareBytes, decodeText, encodeText } from '../../core/bytes.ts';
import { CorruptStateFault } from '../../core/faults.ts';

const anyText = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', '\0', 'é', '中', '😀', '\ud83d', '\ude00', '\uffff') }),
  fc.string({ unit: 'binary' }),
);
const anyPart = fc.oneof(
  fc.record({ kind: fc.constant('u8' as const), value: fc.nat({ max: 255 }) }),
  fc.record({ kind: fc.constant('u32' as const), value: fc.nat({ max: 0xffffffff }) }),
  fc.record({ kind: fc.constant('f64' as const), value: fc.double() }),
  fc.record({ kind: fc.constant('varint' as const), value: fc.maxSafeNat() }),
  fc.record({
    kind: fc.constant('signedVarint' as const),
    value: fc.maxSafeInteger().map((value) => value + 0),
  }),
  fc.record({ kind: fc.constant('string' as const), value: anyText }),
  fc.record({ kind: fc.constant('bytes' as const), value: fc.uint8Array() }),
);

type Part = typeof anyPart extends fc.Arbitrary<infer T> ? T : never;

function write(writer: ByteWriter, part: Part): void {
  if (part.kind === 'string') writer.string(part.value);
  else if (part.kind === 'bytes') writer.bytes(part.value);
  else writer[part.kind](part.value);
}

describe('stored bytes', () => {
  it('give back what was written, in order and to the last byte', () => {
    fc.assert(
      fc.property(fc.array(anyPart), (parts) => {
        const writer = new ByteWriter(1);
        for (const part of parts) write(writer, part);
        const reader = new ByteReader(writer.finish());
        const found = parts.map(({ kind }) => reader[kind]());
        reader.end();
        expect(found).toEqual(parts.map(({ value }) => value));
      }),
    );
  });

  it('that are random are the canonical bytes of a number, or refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 10 }), (bytes) => {
        const reader = new ByteReader(bytes);
        let value: number;
        try {
          value = reader.varint();
        } catch (fault) {
          expect(fault).toBeInstanceOf(CorruptStateFault);
          return;
        }
        const writer = new ByteWriter();
        writer.varint(value);
        expect(writer.finish()).toEqual(bytes.slice(0, reader.offset));
      }),
      { numRuns: 2_000 },
    );
  });

  it('that are random are the canonical bytes of a text, or refused', () => {
    const byte = fc.constantFrom(0x41, 0x80, 0xa0, 0xb0, 0xbf, 0xc3, 0xed, 0xee, 0xf0, 0x9f);
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 9 }), (array) => {
        const bytes = Uint8Array.from(array);
        let text: string;
        try {
          text = decodeText(bytes);
        } catch (fault) {
          expect(fault).toBeInstanceOf(CorruptStateFault);
          return;
        }
        expect([...encodeText(text)]).toEqual(array);
      }),
      { numRuns: 5_000 },
    );
  });

  it('of texts come back, and sort as their code points do', () => {
    const points = (text: string) =>
      [...text].map((character) => character.codePointAt(0) as number);
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        expect(decodeText(encodeText(a))).toBe(a);
        const [left, right] = [points(a), points(b)];
        const at = left.findIndex((point, index) => point !== right[index]);
        const expected =
          at < 0 ? left.length - right.length : (left[at] as number) - (right[at] ?? -1);
        expect(Math.sign(compareBytes(encodeText(a), encodeText(b)))).toBe(Math.sign(expected));
      }),
      { numRuns: 1_000 },
    );
  });
});
