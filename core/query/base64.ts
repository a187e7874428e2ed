/**
 * Base64 of bytes (RFC 4648, section 4), and its form for addresses without padding (section 5).
 */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const PADDING = 61;

const codes = Uint8Array.from(ALPHABET, (character) => character.charCodeAt(0));
const ascii = new TextDecoder('utf-8');

const digitOf = new Map<string, number>();
for (const [value, character] of [...ALPHABET].entries()) {
  digitOf.set(character === '+' ? '-' : character === '/' ? '_' : character, value);
}

/** With padding. */
export function toBase64(bytes: Uint8Array): string {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  let at = 0;
  for (let index = 0; index < bytes.length; index += 3) {
    const left = bytes.length - index;
    const a = bytes[index] as number;
    const b = left > 1 ? (bytes[index + 1] as number) : 0;
    const c = left > 2 ? (bytes[index + 2] as number) : 0;
    text[at++] = codes[a >> 2] as number;
    text[at++] = codes[((a & 3) << 4) | (b >> 4)] as number;
    text[at++] = left > 1 ? (codes[((b & 15) << 2) | (c >> 6)] as number) : PADDING;
    text[at++] = left > 2 ? (codes[c & 63] as number) : PADDING;
  }
  return ascii.decode(text);
}

/** Without padding, `-` and `_` in place of `+` and `/`. */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** The inverse of `toBase64Url`; null for a text that it does not make. */
export function fromBase64Url(text: string): Uint8Array | null {
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let at = 0;
  let bits = 0;
  let bitCount = 0;
  for (const character of text) {
    const value = digitOf.get(character);
    if (value === undefined) return null;
    bits = ((bits << 6) | value) & 0xfff;
    bitCount += 6;
    if (bitCount < 8) continue;
    bitCount -= 8;
    bytes[at++] = (bits >> bitCount) & 0xff;
  }
  const isWhole = bitCount < 6 && (bits & ((1 << bitCount) - 1)) === 0;
  return isWhole ? bytes : null;
}
