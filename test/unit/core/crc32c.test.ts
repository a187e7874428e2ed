import { describe, expect, it } from 'vitest';
import { crc32c } from '../../../core/crc32c.ts';

const ascii = (text: string) => new TextEncoder().encode(text);

describe('CRC-32C', () => {
  it.each([
    ['nothing', new Uint8Array(0), 0x00000000],
    ['the check string', ascii('123456789'), 0xe3069283],
    // RFC 3720, B.4.
    ['32 zeros', new Uint8Array(32), 0x8a9136aa],
    ['32 bytes of ones', new Uint8Array(32).fill(0xff), 0x62a8ab43],
    ['32 ascending bytes', Uint8Array.from({ length: 32 }, (_, index) => index), 0x46dd794e],
    ['32 descending bytes', Uint8Array.from({ length: 32 }, (_, index) => 31 - index), 0x113fdb5c],
  ])('of %s is the published one', (_, bytes, expected) => {
    expect(crc32c(bytes)).toBe(expected);
  });

  it('continues that of the bytes before, wherever they are cut', () => {
    const bytes = ascii('the quick brown fox');
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(crc32c(bytes.subarray(cut), crc32c(bytes.subarray(0, cut)))).toBe(crc32c(bytes));
    }
  });

  it('tells every single flipped bit', () => {
    const bytes = ascii('a checksum of nineteen');
    const sums = new Set([crc32c(bytes)]);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = bytes.slice();
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      sums.add(crc32c(flipped));
    }
    expect(sums.size).toBe(1 + bytes.length * 8);
  });
});
