import { describe, expect, it } from 'vitest';
import {
  ByteReader,
  ByteWriter,
  compareBytes,
  decodeText,
  encodeText,
} from '../../../core/bytes.ts';
import { CorruptStateFault, InvariantFault } from '../../../core/faults.ts';

const readerOf = (...bytes: number[]) => new ByteReader(Uint8Array.from(bytes));

function written(write: (writer: ByteWriter) => void): number[] {
  const writer = new ByteWriter(1);
  write(writer);
  return [...writer.finish()];
}

describe('varints', () => {
  it.each([
    [0, [0x00]],
    [1, [0x01]],
    [127, [0x7f]],
    [128, [0x80, 0x01]],
    [16_383, [0xff, 0x7f]],
    [16_384, [0x80, 0x80, 0x01]],
    [2 ** 31 - 1, [0xff, 0xff, 0xff, 0xff, 0x07]],
    [2 ** 31, [0x80, 0x80, 0x80, 0x80, 0x08]],
    [2 ** 32, [0x80, 0x80, 0x80, 0x80, 0x10]],
    [2 ** 53 - 1, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]],
  ])('%d has the bytes %j', (value, bytes) => {
    expect(written((writer) => writer.varint(value))).toEqual(bytes);
    expect(readerOf(...bytes).varint()).toBe(value);
  });

  it.each([-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY])('are not %d', (value) => {
    expect(() => new ByteWriter().varint(value)).toThrow(InvariantFault);
  });

  it.each([
    ['a zero that is too long', [0x80, 0x00]],
    ['a one that is too long', [0x81, 0x80, 0x00]],
    ['2^53', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]],
    ['nine bytes', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]],
    ['bytes that end early', [0x80]],
    ['no bytes', []],
  ])('are refused where they are %s', (_, bytes) => {
    expect(() => readerOf(...bytes).varint()).toThrow(CorruptStateFault);
  });

  it.each([0, -0, 1, -1, 2 ** 53 - 1, -(2 ** 53) + 1])('carry the sign of %d', (value) => {
    const bytes = written((writer) => writer.signedVarint(value));
    expect(readerOf(...bytes).signedVarint()).toBe(value === 0 ? 0 : value);
  });

  it.each([
    ['a negative zero', [1, 0]],
    ['a sign that is neither', [2, 1]],
  ])('are refused with %s', (_, bytes) => {
    expect(() => readerOf(...bytes).signedVarint()).toThrow(CorruptStateFault);
  });
});

describe('text', () => {
  it.each(['', 'é', '中', '😀', '\0', '\ufeffmark', '\ud800', '\udc00\ud800', 'a\udfffb😀\ud83d'])(
    'comes back as it was: %j',
    (text) => {
      expect(decodeText(encodeText(text))).toBe(text);
    },
  );

  it('tells a lone surrogate from the replacement character', () => {
    expect([...encodeText('\ud800')]).toEqual([0xed, 0xa0, 0x80]);
    expect([...encodeText('\ufffd')]).toEqual([0xef, 0xbf, 0xbd]);
  });

  it.each([
    ['a continuation alone', [0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['a cut character', [0xe4, 0xb8]],
    ['a cut surrogate', [0xed, 0xa0]],
    ['a surrogate with a wrong end', [0xed, 0xa0, 0x41]],
    ['a pair of surrogates that UTF-8 writes in four bytes', [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]],
  ])('is refused where it is %s', (_, bytes) => {
    expect(() => decodeText(Uint8Array.from(bytes))).toThrow(CorruptStateFault);
  });
});

describe('a reader', () => {
  it('refuses to read past the end, and says where', () => {
    const reader = readerOf(5, 1, 2);
    expect(() => reader.bytes()).toThrow(/5 bytes wanted at 1, 2 are there/);
  });

  it.each(['u32', 'f64'] as const)('refuses half of a %s', (kind) => {
    expect(() => readerOf(1, 2, 3)[kind]()).toThrow(CorruptStateFault);
  });

  it('refuses a flag that is neither 0 nor 1', () => {
    const reader = readerOf(0, 1, 2);
    expect([reader.flag(), reader.flag()]).toEqual([false, true]);
    expect(() => reader.flag()).toThrow(CorruptStateFault);
  });

  it('refuses bytes that are left over', () => {
    const reader = readerOf(1, 2);
    reader.u8();
    expect(() => reader.end()).toThrow(/1 bytes too many/);
    reader.u8();
    expect(() => reader.end()).not.toThrow();
  });

  it('reads bytes in the middle of a buffer', () => {
    const whole = Uint8Array.from([9, 9, 1, 0, 0, 0, 9]);
    const reader = new ByteReader(whole.subarray(2, 6));
    expect(reader.u32()).toBe(1);
    expect(reader.remaining).toBe(0);
  });
});

describe('a writer', () => {
  it('gives copies by finish and its own bytes by peek', () => {
    const writer = new ByteWriter(2);
    writer.string('abc');
    const copy = writer.finish();
    writer.clear();
    writer.string('xyz');
    expect([...copy]).toEqual([3, 0x61, 0x62, 0x63]);
    expect([...writer.peek()]).toEqual([3, 0x78, 0x79, 0x7a]);
  });
});

describe('compareBytes', () => {
  it('orders by unsigned bytes, a prefix first', () => {
    const ascending = [[], [0], [0, 0], [0, 255], [1], [127], [128], [255], [255, 0]];
    for (const [i, a] of ascending.entries()) {
      for (const [j, b] of ascending.entries()) {
        const order = compareBytes(Uint8Array.from(a), Uint8Array.from(b));
        expect(Math.sign(order)).toBe(Math.sign(i - j));
      }
    }
  });

  it.each([1, 5])('refuses bytes of which not exactly as many are read as they say: %i', (read) => {
    const writer = new ByteWriter();
    writer.bytes(Uint8Array.of(1, 2, 3));
    writer.raw(Uint8Array.of(4, 5, 6));
    const reader = new ByteReader(writer.finish());
    const end = reader.beginSized();
    reader.raw(read);
    expect(() => reader.endSized(end)).toThrow(CorruptStateFault);
  });

  it('has no sized bytes that go beyond its own', () => {
    expect(() => new ByteReader(Uint8Array.of(3, 1, 2)).beginSized()).toThrow(CorruptStateFault);
  });

  it.each([0, 1, 0x7f, 0x80, 300, 20_000])(
    'writes %i bytes whose length is not known before',
    (length) => {
      const body = Uint8Array.from({ length }, (_, index) => index);
      const writer = new ByteWriter(4);
      writer.u8(9);
      const start = writer.beginSized();
      writer.raw(body);
      writer.endSized(start);
      writer.u8(8);
      const reader = new ByteReader(writer.finish());
      expect(reader.u8()).toBe(9);
      const end = reader.beginSized();
      expect(reader.raw(length)).toEqual(body);
      reader.endSized(end);
      expect(reader.u8()).toBe(8);
      reader.end();
    },
  );
});
