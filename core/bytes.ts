/**
 * Writing and reading the bytes of every stored format. Little endian; lengths and counts are varints; strings are UTF-8
 * (lone surrogates as their three bytes, so that every JavaScript string survives). A reader that runs off the end or
 * meets a non-canonical varint throws `CorruptStateFault`: bytes are used whole and as written, or not at all.
 */
import { assert } from './assert.ts';
import { CorruptStateFault } from './faults.ts';

/** The version of the stored formats that this code writes and reads. */
export const FORMAT_VERSION = 3;

const HEX_OF_BYTE = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
/** By character code. */
const DIGIT_VALUES = new Uint8Array(128);
for (let value = 0; value < 16; value++) DIGIT_VALUES[value.toString(16).charCodeAt(0)] = value;

const textEncoder = new TextEncoder();
const textDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class ByteWriter {
  #bytes: Uint8Array;
  #view: DataView;
  #length = 0;

  constructor(capacity = 256) {
    this.#bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  get length(): number {
    return this.#length;
  }

  /** A copy of what was written. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  /** What was written; the writer is empty then. It is no copy where little room is left unused. */
  take(): Uint8Array {
    const isTight = this.#length * 2 > this.#bytes.length;
    const taken = isTight ? this.#bytes.subarray(0, this.#length) : this.finish();
    this.#bytes = new Uint8Array(0);
    this.#view = new DataView(this.#bytes.buffer);
    this.#length = 0;
    return taken;
  }

  /** What was written, without a copy: valid until the next write. */
  peek(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  u8(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  u32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#length, value, true);
    this.#length += 4;
  }

  f64(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  /** A non-negative safe integer in 1 to 8 bytes. */
  varint(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, 'varint-is-safe', () => String(value));
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) + 0x80;
      rest = rest < 0x8000_0000 ? rest >>> 7 : Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  /** A safe integer of either sign. */
  signedVarint(value: number): void {
    this.u8(value < 0 ? 1 : 0);
    this.varint(Math.abs(value));
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Length and bytes. */
  bytes(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.raw(bytes);
  }

  /** Length and bytes of a part. */
  bytesOf(bytes: Uint8Array, from: number, to: number): void {
    const length = to - from;
    this.varint(length);
    this.#reserve(length);
    for (let index = from; index < to; index++) {
      this.#bytes[this.#length++] = bytes[index] as number;
    }
  }

  /** Begins bytes whose length stands before them and is not known yet; `endSized` takes what this returns. */
  beginSized(): number {
    this.u8(0);
    return this.#length;
  }

  endSized(start: number): void {
    const length = this.#length - start;
    if (length < 0x80) {
      this.#bytes[start - 1] = length;
      return;
    }
    const body = this.#bytes.slice(start, this.#length);
    this.#length = start - 1;
    this.bytes(body);
  }

  /** Length and UTF-8. */
  string(text: string): void {
    this.bytes(encodeText(text));
  }

  /** Lower-case hex digits, two a byte; the reader knows how many. */
  hex(digits: string): void {
    assert(/^(?:[0-9a-f]{2})*$/.test(digits), 'hex-is-of-whole-bytes', () => digits);
    this.#reserve(digits.length / 2);
    for (let at = 0; at < digits.length; at += 2) {
      const high = DIGIT_VALUES[digits.charCodeAt(at)] as number;
      this.#bytes[this.#length++] = high * 16 + (DIGIT_VALUES[digits.charCodeAt(at + 1)] as number);
    }
  }

  /** How many decimal digits, and the digits, two a byte. */
  decimal(digits: string): void {
    this.u8(digits.length);
    this.hex(digits.length % 2 === 0 ? digits : `${digits}0`);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get offset(): number {
    return this.#offset;
  }

  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  /** Throws unless every byte was read. */
  end(): void {
    if (this.remaining !== 0) throw corrupt(`${this.remaining} bytes too many`);
  }

  u8(): number {
    return this.#view.getUint8(this.#take(1));
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  f64(): number {
    return this.#view.getFloat64(this.#take(8), true);
  }

  /** One byte, 0 or 1. */
  flag(): boolean {
    const byte = this.u8();
    if (byte > 1) throw corrupt(`a flag that is ${byte}`);
    return byte === 1;
  }

  varint(): number {
    const first = this.#bytes[this.#offset];
    if (first !== undefined && first < 0x80) {
      this.#offset++;
      return first;
    }
    let value = 0;
    let scale = 1;
    for (let index = 0; index < 8; index++) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (byte === 0 && index > 0) throw corrupt('a varint that is longer than needed');
        if (!Number.isSafeInteger(value)) throw corrupt('a varint beyond 2^53');
        return value;
      }
      scale *= 0x80;
    }
    throw corrupt('a varint of more than 8 bytes');
  }

  signedVarint(): number {
    const sign = this.u8();
    const magnitude = this.varint();
    if (sign > 1 || (sign === 1 && magnitude === 0)) throw corrupt('a sign that is not canonical');
    return sign === 1 ? -magnitude : magnitude;
  }

  /** What was read from an offset on, without a copy. */
  readSince(offset: number): Uint8Array {
    return this.#bytes.subarray(offset, this.#offset);
  }

  /** The next bytes, without a copy. */
  raw(length: number): Uint8Array {
    const start = this.#take(length);
    return this.#bytes.subarray(start, start + length);
  }

  bytes(): Uint8Array {
    return this.raw(this.varint());
  }

  /** Passes over bytes whose length stands before them; where they begin. */
  passBytes(): number {
    return this.#take(this.varint());
  }

  /** Begins bytes whose length stands before them; `endSized` takes what this returns. */
  beginSized(): number {
    const length = this.varint();
    const start = this.#take(length);
    this.#offset = start;
    return start + length;
  }

  /** Throws unless exactly the bytes since `beginSized` were read. */
  endSized(end: number): void {
    if (this.#offset !== end) throw corrupt(`${this.#offset - end} bytes more than there are`);
  }

  string(): string {
    return decodeText(this.bytes());
  }

  /** So many bytes as hex digits. */
  hex(byteLength: number): string {
    let digits = '';
    for (const byte of this.raw(byteLength)) digits += HEX_OF_BYTE[byte];
    return digits;
  }

  decimal(): string {
    const length = this.u8();
    const padded = this.hex(Math.ceil(length / 2));
    if (!/^[0-9]*$/.test(padded)) throw corrupt('a decimal that is none');
    if (padded.length > length && padded.at(-1) !== '0') throw corrupt('a decimal too long');
    return padded.slice(0, length);
  }

  #take(count: number): number {
    const start = this.#offset;
    if (count > this.#bytes.length - start) {
      throw corrupt(`${count} bytes wanted at ${start}, ${this.#bytes.length - start} are there`);
    }
    this.#offset = start + count;
    return start;
  }
}

/** UTF-8 of any JavaScript string: a lone surrogate becomes its three-byte form, so that no two strings collide. */
export function encodeText(text: string): Uint8Array {
  if (text.isWellFormed()) return textEncoder.encode(text);
  const parts: number[] = [];
  for (const character of text) {
    const code = character.codePointAt(0) as number;
    if (isSurrogate(code)) {
      parts.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
    } else parts.push(...textEncoder.encode(character));
  }
  return Uint8Array.from(parts);
}

/** The inverse of `encodeText`. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return textDecoder.decode(bytes);
  } catch {
    return decodeWithSurrogates(bytes);
  }
}

function decodeWithSurrogates(bytes: Uint8Array): string {
  let text = '';
  let start = 0;
  for (let index = 0; index + 2 < bytes.length; index++) {
    const [a, b, c] = [bytes[index], bytes[index + 1], bytes[index + 2]] as [
      number,
      number,
      number,
    ];
    if (a !== 0xed || b < 0xa0) continue;
    text += decodeStrictly(bytes.subarray(start, index));
    text += String.fromCharCode(((a & 0x0f) << 12) | ((b & 0x3f) << 6) | (c & 0x3f));
    start = index + 3;
    index += 2;
  }
  text += decodeStrictly(bytes.subarray(start));
  // A cut surrogate, or a pair that belongs in four bytes: no encodeText writes that.
  if (compareBytes(encodeText(text), bytes) !== 0) throw notUtf8();
  return text;
}

function decodeStrictly(bytes: Uint8Array): string {
  try {
    return textDecoder.decode(bytes);
  } catch (cause) {
    throw notUtf8(cause);
  }
}

function notUtf8(cause?: unknown): CorruptStateFault {
  return new CorruptStateFault('stored text is not UTF-8', { cause });
}

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff;
}

function corrupt(what: string): CorruptStateFault {
  return new CorruptStateFault(`stored bytes are not whole: ${what}`);
}

/** All of them, one behind the other. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Byte by byte, as unsigned numbers; a prefix sorts first. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index++) {
    const difference = (a[index] as number) - (b[index] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** The same of the bytes [aFrom, aTo) of one array and [bFrom, bTo) of another. */
export function compareSpans(
  a: Uint8Array,
  aFrom: number,
  aTo: number,
  b: Uint8Array,
  bFrom: number,
  bTo: number,
): number {
  let aAt = aFrom;
  let bAt = bFrom;
  while (aAt < aTo && bAt < bTo) {
    const difference = (a[aAt++] as number) - (b[bAt++] as number);
    if (difference !== 0) return difference;
  }
  return aTo - aAt - (bTo - bAt);
}
