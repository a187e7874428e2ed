/**
 * A 128-bit hash (MurmurHash3_x86_128 by Austin Appleby, public domain): identifies dedupe ids and plans, and feeds digests.
 * Well mixed, but not a defence against texts that are made to collide.
 */
const C1 = 0x239b961b;
const C2 = 0xab0e9789;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93;

/** Words of the text that is hashed, with zeros up to a whole block behind them. */
let textWords = new Uint32Array(64);

/** Writes four unsigned 32-bit words of the hash of `text`, over its UTF-16 code units, under `seed` (32 bits) to `out`. */
export function hashText(text: string, out: Uint32Array, seed = 0): void {
  const { length } = text;
  const wordCount = Math.ceil(length / 8) * 4;
  if (wordCount > textWords.length) textWords = new Uint32Array(wordCount * 2);
  const words = textWords;
  const pairs = length >>> 1;
  let at = 0;
  for (; at < pairs; at++) {
    words[at] = text.charCodeAt(2 * at) | (text.charCodeAt(2 * at + 1) << 16);
  }
  if (length % 2 === 1) words[at++] = text.charCodeAt(length - 1);
  while (at < wordCount) words[at++] = 0;
  hashWords(words, length * 2, out, seed);
}

/**
 * The same of `byteLength` bytes, as words of four bytes each, the lowest first. Behind them stand zeros up to the end of a
 * block of four words.
 */
export function hashWords(
  words: Uint32Array,
  byteLength: number,
  out: Uint32Array,
  seed = 0,
): void {
  let h1 = seed | 0;
  let h2 = h1;
  let h3 = h1;
  let h4 = h1;
  const tail = (byteLength >>> 4) * 4;
  for (let at = 0; at < tail; at += 4) {
    h1 ^= Math.imul(rotate(Math.imul(words[at] as number, C1), 15), C2);
    h1 = (Math.imul((rotate(h1, 19) + h2) | 0, 5) + 0x561ccd1b) | 0;
    h2 ^= Math.imul(rotate(Math.imul(words[at + 1] as number, C2), 16), C3);
    h2 = (Math.imul((rotate(h2, 17) + h3) | 0, 5) + 0x0bcaa747) | 0;
    h3 ^= Math.imul(rotate(Math.imul(words[at + 2] as number, C3), 17), C4);
    h3 = (Math.imul((rotate(h3, 15) + h4) | 0, 5) + 0x96cd1c35) | 0;
    h4 ^= Math.imul(rotate(Math.imul(words[at + 3] as number, C4), 18), C1);
    h4 = (Math.imul((rotate(h4, 13) + h1) | 0, 5) + 0x32ac3b17) | 0;
  }
  // Zeros change nothing, so a rest of less than four words is taken like one of four.
  if (byteLength % 16 !== 0) {
    h4 ^= Math.imul(rotate(Math.imul(words[tail + 3] as number, C4), 18), C1);
    h3 ^= Math.imul(rotate(Math.imul(words[tail + 2] as number, C3), 17), C4);
    h2 ^= Math.imul(rotate(Math.imul(words[tail + 1] as number, C2), 16), C3);
    h1 ^= Math.imul(rotate(Math.imul(words[tail] as number, C1), 15), C2);
  }
  h1 ^= byteLength;
  h2 ^= byteLength;
  h3 ^= byteLength;
  h4 ^= byteLength;
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
