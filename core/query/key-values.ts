/**
 * What a key or a prefix of a question stands for. The one who asks sees `10115` and need not know whether the records have
 * it as text or as a number, so bare text asks for both; two forms ask for one only:
 *
 *   10115      the text "10115" and the number 10115
 *   "10115"    a JSON string: the text alone
 *   [10115]    a JSON array of one value: that value alone
 */
import type { GroupValue } from '../state/group-key.ts';
import { refuse } from './query-problem.ts';

/** Values of which a field must have one, each once, in the order of encoded keys. */
export type WantedValues = readonly [GroupValue, ...GroupValue[]];

export interface KeyPrefix {
  /** What the value's spelling begins with: text as it is, anything else as JSON writes it. */
  readonly text: string;
  /** Numbers, booleans and null are no match, however they are written. */
  readonly textOnly: boolean;
}

/** The values that `text` asks for. */
export function readKeyValues(path: string, text: string): WantedValues {
  const spelled = parseSpelled(path, text);
  if (spelled.form === 'bare') return [text];
  const { value } = spelled;
  if (typeof value === 'string') return [value];
  if (Array.isArray(value) && value.length === 1 && isScalar(value[0])) {
    return [exactValue(path, text, value[0])];
  }
  if (isScalar(value)) {
    // No record has a key beyond what a number can be exactly: what looks like one is text.
    return typeof value === 'number' && !isKeyNumber(value)
      ? [text]
      : [value === 0 ? 0 : value, text];
  }
  const kind = Array.isArray(value) ? 'an array' : 'an object';
  return refuse('wrong-key', `${path} is ${kind}, and no record is grouped by one.`, {
    path,
    expected:
      'text, or a number, boolean or null; text that looks like JSON in double quotes; [7] for the number 7 alone',
    found: text,
  });
}

/** As with keys, a JSON string is text alone. */
export function readKeyPrefix(path: string, text: string): KeyPrefix {
  const spelled = text.startsWith('"') ? parseSpelled(path, text) : null;
  return spelled?.form === 'json' && typeof spelled.value === 'string'
    ? { text: spelled.value, textOnly: true }
    : { text, textOnly: false };
}

/** How a value is written where bare text asks for it. */
export function spellingOf(value: GroupValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

type Spelled = { readonly form: 'bare' } | { readonly form: 'json'; readonly value: unknown };

function parseSpelled(path: string, text: string): Spelled {
  // A literal is written without space around it: text with some is text.
  if (text !== text.trim()) return { form: 'bare' };
  try {
    return { form: 'json', value: JSON.parse(text) };
  } catch {
    if (!text.startsWith('"')) return { form: 'bare' };
    const detail = `${path} begins like a JSON string and does not end like one.`;
    const expected =
      'a JSON string such as "LAX", or text that begins without a quote; "\\"x" for the text "x';
    return refuse('wrong-key', detail, { path, expected, found: text });
  }
}

function exactValue(path: string, text: string, value: GroupValue): GroupValue {
  if (typeof value !== 'number') return value;
  if (isKeyNumber(value)) return value === 0 ? 0 : value;
  return refuse('number-too-large', `${path} is beyond what a key's number can be.`, {
    path,
    expected: 'an integer within ±(2^53 − 1), or "…" around digits that are text',
    found: text,
  });
}

function isScalar(value: unknown): value is GroupValue {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function isKeyNumber(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
