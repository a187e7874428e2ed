import { describe, expect, it } from 'vitest';
import { hashText, hashTextHex } from '../../../core/hash.ts';

const hex = (words: Uint32Array) =>
  Array.from(words, (word) => word.toString(16).padStart(8, '0')).join('');

describe('hashText', () => {
  // By the reference implementation (mmh3 5, x86, 128 bits) over the text as UTF-16, little endian.
  it.each([
    ['', 0, '00000000000000000000000000000000'],
    ['', 1, '88c4adec54d201b954d201b954d201b9'],
    ['a', 0, '033bb196ccef4fe1ccef4fe1ccef4fe1'],
    ['ab', 0, '260fb953af22b6fdaf22b6fdaf22b6fd'],
    ['abc', 7, '929c4c23c22de19dfb0c64cdfb0c64cd'],
    ['abcd', 0, '95ef82c7e4ec9aa20a8cb00d0a8cb00d'],
    ['abcdefg', 0, '851fde5ef81a9aab2a351f32fa8e8ca7'],
    ['abcdefgh', 0, '6c3576558df898a1a76d230d42147114'],
    ['abcdefghi', 0x9e3779b1, '546fc93540ab66b52af1552168c1321d'],
    ['shardId-000000000000', 0, 'd5f8063f40428e40a46c0b603ac7878b'],
    [
      '49590338271490256608559692538361571095921575989136588898',
      123,
      '24e83be9caab88787d3b8622920e3856',
    ],
    ['é中😀', 0, 'b7baa1601575d443942b5f00942b5f00'],
    ['x'.repeat(100), 0xffffffff, '7c052f70e57dd2bc464209b3a2d4a8b6'],
  ])('of %j under seed %i is MurmurHash3_x86_128', (text, seed, expected) => {
    const words = new Uint32Array(4);
    hashText(text, words, seed);
    expect(hex(words)).toBe(expected);
  });

  it('tells texts that differ in one code unit, lone surrogates too', () => {
    const texts = ['\ud800', '\udfff', '\ufffd', '\ud800\udc00', '\0', '\0\0', '', 'a', 'a\0'];
    expect(new Set(texts.map(hashTextHex)).size).toBe(texts.length);
  });

  it('is written as 32 hex digits', () => {
    expect(hashTextHex('a')).toBe('033bb196ccef4fe1ccef4fe1ccef4fe1');
  });
});
