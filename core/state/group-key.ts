/**
 * Group keys: the values that an entry is grouped by, as bytes: one form in memory, in deltas, bases, runs and answers.
 *
 * Bytes sort as the values do, field by field: null < false < true < numbers < strings (by code point). They are the same for
 * the same values only, and group values are data: no string has a meaning of its own.
 *
 *   null 01 · false 02 · true 03 · number 04 + 8 bytes · string 05 + UTF-8 with 00 written as 00 ff, then 00
 */
import { decodeText, encodeText } from '../bytes.ts';
import type { FieldValue } from '../decode/record-decoder.ts';
import { CorruptStateFault } from '../faults.ts';
import { hashKey } from './key-table.ts';

export type GroupValue = string | number | boolean | null;

const NULL = 1;
const FALSE = 2;
const TRUE = 3;
const NUMBER = 4;
const STRING = 5;

/** The key of a record's group fields, written over the one before: what a fold looks an entry up by. */
export class GroupKeyBuffer {
  bytes = new Uint8Array(64);
  length = 0;
  /** `hashKey` of it. */
  hash = 0;

  /** Same bytes as `encodeGroupKey`; an absent field groups under null. */
  write(groupBy: readonly { readonly field: number }[], values: readonly FieldValue[]): void {
    this.length = 0;
    for (let index = 0; index < groupBy.length; index++) {
      const value = values[(groupBy[index] as { field: number }).field] ?? null;
      if (typeof value !== 'string' || !this.#writeAscii(value)) this.#append(encodeValue(value));
    }
    this.hash = hashKey(this.bytes, this.length);
  }

  /** False, and nothing written, where the text is not of ASCII characters other than NUL. */
  #writeAscii(text: string): boolean {
    this.#reserve(text.length + 2);
    const { bytes } = this;
    let at = this.length;
    bytes[at++] = STRING;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code === 0 || code >= 0x80) return false;
      bytes[at++] = code;
    }
    bytes[at++] = 0;
    this.length = at;
    return true;
  }

  #append(encoded: Uint8Array): void {
    this.#reserve(encoded.length);
    this.bytes.set(encoded, this.length);
    this.length += encoded.length;
  }

  #reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }
}

/** The values of a record's group fields; an absent field groups under null. */
export function groupValuesOf(
  groupBy: readonly { readonly field: number }[],
  values: readonly FieldValue[],
): GroupValue[] {
  return groupBy.map(({ field }) => values[field] ?? null);
}

/** Bytes that sort as the values do. */
export function encodeGroupKey(values: readonly GroupValue[]): Uint8Array {
  const parts: Uint8Array[] = values.map(encodeValue);
  if (parts.length === 1) return parts[0] as Uint8Array;
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The inverse of `encodeGroupKey`. */
export function decodeGroupKey(bytes: Uint8Array): GroupValue[] {
  const values: GroupValue[] = [];
  let at = 0;
  while (at < bytes.length) {
    const tag = bytes[at++];
    if (tag === NULL) values.push(null);
    else if (tag === FALSE || tag === TRUE) values.push(tag === TRUE);
    else if (tag === NUMBER) {
      values.push(decodeNumber(bytes, at));
      at += 8;
    } else if (tag === STRING) {
      const end = stringEnd(bytes, at);
      values.push(decodeString(bytes.subarray(at, end)));
      at = end + 1;
    } else throw new CorruptStateFault(`a group key has the unknown tag ${tag}`);
  }
  return values;
}

function encodeValue(value: GroupValue): Uint8Array {
  if (value === null) return Uint8Array.of(NULL);
  if (typeof value === 'boolean') return Uint8Array.of(value ? TRUE : FALSE);
  return typeof value === 'number' ? encodeNumber(value) : encodeString(value);
}

// A double's bits sort as its value once negative numbers are inverted and positive ones get the sign bit.
function encodeNumber(value: number): Uint8Array {
  const bytes = new Uint8Array(9);
  bytes[0] = NUMBER;
  new DataView(bytes.buffer).setFloat64(1, value === 0 ? 0 : value, false);
  const negative = value < 0;
  for (let index = 1; index < 9; index++) {
    const byte = bytes[index] as number;
    bytes[index] = negative ? byte ^ 0xff : index === 1 ? byte | 0x80 : byte;
  }
  return bytes;
}

function decodeNumber(bytes: Uint8Array, at: number): number {
  if (bytes.length - at < 8) throw new CorruptStateFault('a group key ends inside a number');
  const copy = bytes.slice(at, at + 8);
  const negative = ((copy[0] as number) & 0x80) === 0;
  for (let index = 0; index < 8; index++) {
    const byte = copy[index] as number;
    copy[index] = negative ? byte ^ 0xff : index === 0 ? byte & 0x7f : byte;
  }
  return new DataView(copy.buffer).getFloat64(0, false);
}

function encodeString(text: string): Uint8Array {
  const utf8 = encodeText(text);
  let zeros = 0;
  for (const byte of utf8) if (byte === 0) zeros++;
  const bytes = new Uint8Array(utf8.length + zeros + 2);
  bytes[0] = STRING;
  if (zeros === 0) {
    bytes.set(utf8, 1);
    return bytes;
  }
  let at = 1;
  for (const byte of utf8) {
    bytes[at++] = byte;
    if (byte === 0) bytes[at++] = 0xff;
  }
  return bytes;
}

function decodeString(escaped: Uint8Array): string {
  if (!escaped.includes(0)) return decodeText(escaped);
  const bytes: number[] = [];
  for (let index = 0; index < escaped.length; index++) {
    const byte = escaped[index] as number;
    bytes.push(byte);
    if (byte === 0) index++;
  }
  return decodeText(Uint8Array.from(bytes));
}

function stringEnd(bytes: Uint8Array, from: number): number {
  for (let index = from; index < bytes.length; index++) {
    if (bytes[index] !== 0) continue;
    if (bytes[index + 1] !== 0xff) return index;
    index++;
  }
  throw new CorruptStateFault('a group key ends inside a string');
}
