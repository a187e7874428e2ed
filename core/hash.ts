/**
 * A 128-bit hash of text (MurmurHash3_x86_128 by Austin Appleby, public domain, over UTF-16 code units): identifies
 * dedupe ids and plans, and feeds digests. Well mixed, but not a defence against texts that are made to collide.
 */
const C1 = 0x239b961b;
const C2 = 0xab0e9789;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93;

/** Writes four unsigned 32-bit words of the hash of `text` under `seed` (32 bits) to `out`. */
export function hashText(text: string, out: Uint32Array, seed = 0): void {
  let h1 = seed | 0;
  let h2 = h1;
  let h3 = h1;
  let h4 = h1;
  const length = text.length;
  // Two code units make a word: 16 bytes a round, as in the reference.
  const word = (index: number): number =>
    (index < length ? text.charCodeAt(index) : 0) |
    (index + 1 < length ? text.charCodeAt(index + 1) << 16 : 0);
  const rounds = Math.floor(length / 8);
  for (let round = 0; round < rounds; round++) {
    const at = round * 8;
    h1 ^= Math.imul(rotate(Math.imul(word(at), C1), 15), C2);
    h1 = (Math.imul((rotate(h1, 19) + h2) | 0, 5) + 0x561ccd1b) | 0;
    h2 ^= Math.imul(rotate(Math.imul(word(at + 2), C2), 16), C3);
    h2 = (Math.imul((rotate(h2, 17) + h3) | 0, 5) + 0x0bcaa747) | 0;
    h3 ^= Math.imul(rotate(Math.imul(word(at + 4), C3), 17), C4);
    h3 = (Math.imul((rotate(h3, 15) + h4) | 0, 5) + 0x96cd1c35) | 0;
    h4 ^= Math.imul(rotate(Math.imul(word(at + 6), C4), 18), C1);
    h4 = (Math.imul((rotate(h4, 13) + h1) | 0, 5) + 0x32ac3b17) | 0;
  }
  const tail = rounds * 8;
  h4 ^= Math.imul(rotate(Math.imul(word(tail + 6), C4), 18), C1);
  h3 ^= Math.imul(rotate(Math.imul(word(tail + 4), C3), 17), C4);
  h2 ^= Math.imul(rotate(Math.imul(word(tail + 2), C2), 16), C3);
  h1 ^= Math.imul(rotate(Math.imul(word(tail), C1), 15), C2);
  const bytes = length * 2;
  h1 ^= bytes;
  h2 ^= bytes;
  h3 ^= bytes;
  h4 ^= bytes;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = (h2 + h1) | 0;
  h3 = (h3 + h1) | 0;
  h4 = (h4 + h1) | 0;
  h1 = mix(h1);
  h2 = mix(h2);
  h3 = mix(h3);
  h4 = mix(h4);
  h1 = (h1 + h2 + h3 + h4) | 0;
  out[0] = h1;
  out[1] = h2 + h1;
  out[2] = h3 + h1;
  out[3] = h4 + h1;
}

/** The hash of `text` as 32 hex digits. */
export function hashTextHex(text: string): string {
  const words = new Uint32Array(4);
  hashText(text, words);
  return Array.from(words, (word) => word.toString(16).padStart(8, '0')).join('');
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function mix(value: number): number {
  let h = value ^ (value >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}
