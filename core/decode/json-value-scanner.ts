/**
 * Where a JSON value ends in bytes that come piece by piece. It looks at brackets and strings alone: what lies between them
 * is for `JSON.parse` to judge. No byte of a character of several bytes is a bracket or a quote, so UTF-8 needs no decoding.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING_BRACE = 0x7b;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACE = 0x7d;
const CLOSING_BRACKET = 0x5d;

/** What JSON calls whitespace: space, TAB, LF and CR. */
export function isJsonSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** The index of the first byte from `from` on that is no whitespace; the length if there is none. */
export function skipJsonSpace(bytes: Uint8Array, from: number): number {
  let index = from;
  while (index < bytes.length && isJsonSpace(bytes[index])) index++;
  return index;
}

/** Scans one value. A new one for each. */
export class JsonValueScanner {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  /**
   * The index after the value's last byte, or −1 if the value goes on after `bytes`. The first call begins at the value's
   * first byte, each later one where the bytes before ended. A number or a name ends before what follows it: at the end
   * of all bytes it ends with them.
   */
  end(bytes: Uint8Array, from: number): number {
    for (let index = from; index < bytes.length; index++) {
      const byte = bytes[index] as number;
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) {
          this.#isInString = false;
          if (this.#depth === 0) return index + 1;
        }
      } else if (byte === QUOTE) this.#isInString = true;
      else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) this.#depth++;
      else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) {
        // One that closes nothing ends a number or a name before it.
        if (this.#depth === 0) return index;
        this.#depth--;
        if (this.#depth === 0) return index + 1;
      } else if (this.#depth === 0 && (byte === COMMA || isJsonSpace(byte))) return index;
    }
    return -1;
  }
}
