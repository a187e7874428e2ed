import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromBase64Url, toBase64, toBase64Url } from '../../../core/query/base64.ts';
import { openToken, sealToken } from '../../../core/query/token.ts';

describe('base64', () => {
  it('is that of everybody else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
        expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'));
        expect(toBase64Url(bytes)).toBe(Buffer.from(bytes).toString('base64url'));
        expect(fromBase64Url(toBase64Url(bytes))).toEqual(new Uint8Array(bytes));
      }),
    );
  });

  it('refuses texts that it does not make', () => {
    for (const text of ['A', 'AB=', 'A+', 'A/', 'AA A', 'AAAAA', 'AB', 'é']) {
      expect(fromBase64Url(text), text).toBeNull();
    }
  });
});

describe('a token', () => {
  const sealed = sealToken((writer) => writer.string('here'));

  it('gives back what was written', () => {
    expect(openToken(sealed, (reader) => reader.string())).toBe('here');
  });

  it('is refused with any one character changed, cut or added', () => {
    for (let index = 0; index < sealed.length; index++) {
      for (const other of ['A', 'B', '_']) {
        const changed = sealed.slice(0, index) + other + sealed.slice(index + 1);
        if (changed !== sealed) expect(openToken(changed, (reader) => reader.string())).toBeNull();
      }
      expect(openToken(sealed.slice(0, index), (reader) => reader.string())).toBeNull();
    }
    expect(openToken(`${sealed}A`, (reader) => reader.string())).toBeNull();
  });

  it('is refused when the reader finds too little or too much in it', () => {
    expect(openToken(sealed, (reader) => reader.u8())).toBeNull();
    expect(openToken(sealed, (reader) => [reader.string(), reader.u8()])).toBeNull();
  });
});
