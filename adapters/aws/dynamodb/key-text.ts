/**
 * Any text as a part of a key, and back. What ids are made of stays as it is, so that a person can read the table. All other
 * bytes of the text's UTF-8 become an escape and two hex digits: `!` for those below what stays, `~` for those above. So keys
 * sort as the bytes of their texts do, no two texts have one key, and `#` is free to join parts.
 *
 * Part of the table's format: never change it.
 */
import { decodeText, encodeText } from '../../../core/bytes.ts';
import { CorruptStateFault } from '../../../core/faults.ts';

/** The empty text: DynamoDB takes no empty key. Sorts before all others. */
const EMPTY = '!';
/** Bytes that stay: from `$` to `}`. */
const KEPT_MIN = 0x24;
const KEPT_MAX = 0x7d;

export function keyOfText(text: string): string {
  if (text === '') return EMPTY;
  let key = '';
  for (const byte of encodeText(text)) {
    if (byte < KEPT_MIN) key += `!${hexOf(byte)}`;
    else if (byte > KEPT_MAX) key += `~${hexOf(byte)}`;
    else key += String.fromCharCode(byte);
  }
  return key;
}

/** The inverse of `keyOfText`. */
export function textOfKey(key: string): string {
  if (key === EMPTY) return '';
  const bytes: number[] = [];
  for (let at = 0; at < key.length; at++) {
    const code = key.charCodeAt(at);
    if (code >= KEPT_MIN && code <= KEPT_MAX) {
      bytes.push(code);
      continue;
    }
    const digits = key.slice(at + 1, at + 3);
    if (!/^[!~]$/.test(key.charAt(at)) || !/^[0-9a-f]{2}$/.test(digits)) throw notOurs(key);
    bytes.push(Number.parseInt(digits, 16));
    at += 2;
  }
  return decodeText(Uint8Array.from(bytes));
}

/** The range of all sort keys: each that `keyOfText` makes lies in it. */
export const FIRST_KEY = EMPTY;
export const LAST_KEY = '~~';

/** Lies after `key` and before every key that follows it: an escape's digits sort after `!`. */
export function justAfter(key: string): string {
  return `${key}!`;
}

/** Lies after every key that begins with `prefix`. */
export function afterPrefix(prefix: string): string {
  return prefix + LAST_KEY;
}

function hexOf(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

function notOurs(key: string): CorruptStateFault {
  return new CorruptStateFault(`the table has a key that Tidemark does not write: ${key}`, {
    hint: 'nothing else may write into the table of a pipeline',
  });
}
