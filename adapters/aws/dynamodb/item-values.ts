/**
 * Values of an item's attributes, there and back, and what an item weighs. An attribute that is missing or of another type
 * than was written is never guessed at.
 *
 * Text is a string attribute, as a person wants to see it, unless half of a surrogate pair is in it: that has no UTF-8, and
 * the bytes of `encodeText` are kept.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { decodeText, encodeText } from '../../../core/bytes.ts';
import { CorruptStateFault } from '../../../core/faults.ts';

export type Item = Record<string, AttributeValue>;

export function numberValue(value: number): AttributeValue {
  return { N: String(value) };
}

export function textValue(text: string): AttributeValue {
  return text.isWellFormed() ? { S: text } : { B: encodeText(text) };
}

/** A copy: the caller's bytes may change before an attempt is made. */
export function bytesValue(bytes: Uint8Array): AttributeValue {
  return { B: new Uint8Array(bytes) };
}

/** Text that may be long and is read by no person: compressed. */
export function packedValue(text: string): AttributeValue {
  return { B: deflateRawSync(encodeText(text)) };
}

export function numberOf(item: Item, name: string): number {
  const number = Number(item[name]?.N ?? Number.NaN);
  if (!Number.isSafeInteger(number)) throw damaged(item, name);
  return number;
}

export function textOf(item: Item, name: string): string {
  const value = item[name];
  if (value?.S !== undefined) return value.S;
  if (value?.B !== undefined) return decodeText(value.B);
  throw damaged(item, name);
}

/** Bytes that own their buffer: the SDK's may be a part of a larger one. */
export function bytesOf(item: Item, name: string): Uint8Array {
  const bytes = item[name]?.B;
  if (bytes === undefined) throw damaged(item, name);
  return new Uint8Array(bytes);
}

export function packedOf(item: Item, name: string): string {
  const bytes = bytesOf(item, name);
  try {
    return decodeText(inflateRawSync(bytes));
  } catch (cause) {
    throw damaged(item, name, cause);
  }
}

/** What DynamoDB charges an item as: names and values; of numbers, at most this. */
export function itemByteLength(item: Item): number {
  let byteLength = 0;
  for (const [name, value] of Object.entries(item)) {
    byteLength += encodeText(name).length + valueByteLength(value);
  }
  return byteLength;
}

function valueByteLength({ S, N, B }: AttributeValue): number {
  if (S !== undefined) return encodeText(S).length;
  if (B !== undefined) return B.length;
  return Math.ceil((N ?? '').length / 2) + 1;
}

export function damaged(item: Item, name: string, cause?: unknown): CorruptStateFault {
  const key = `${item['pk']?.S ?? '?'} / ${item['sk']?.S ?? '?'}`;
  return new CorruptStateFault(`the item ${key} has no sound attribute "${name}"`, {
    hint: 'something else wrote into the table, or it was damaged: restore it to a point in time before',
    cause,
  });
}
