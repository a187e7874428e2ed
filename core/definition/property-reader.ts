/**
 * Reading the values of a pipeline file. Each reader notes what is wrong and then returns a placeholder of the right
 * type, so that the rest is still checked; what it returned counts only if no problem was noted.
 */
import { CATEGORY_LENGTH_MAX, NAME_LENGTH_MAX, STREAM_NAME_LENGTH_MAX } from '../limits.ts';
import { describeValue } from './describe-value.ts';
import { type ParsedDuration, parseDuration } from './duration.ts';
import { type FieldPath, parseFieldPath } from './field-path.ts';
import { type ProblemList, propertyPath } from './problem.ts';
import { nearestWord } from './spelling.ts';

export interface ObjectShape {
  /** What is expected in the object's place. */
  readonly what: string;
  readonly properties: readonly string[];
  /** Of the design, but not of this version: refused by name. */
  readonly later?: readonly string[];
}

/** The properties of an object by name, without those that are undefined; null for anything but a plain object. */
export function readObject(
  value: unknown,
  path: string,
  shape: ObjectShape,
  problems: ProblemList,
): ReadonlyMap<string, unknown> | null {
  const properties = readProperties(value, path, shape.what, problems);
  if (properties === null) return null;
  for (const [name, found] of properties) {
    if (shape.properties.includes(name)) continue;
    const at = propertyPath(path, name);
    if (shape.later?.includes(name)) {
      problems.add(at, found, `no "${name}": it is not supported in this version`);
    } else {
      problems.add(at, found, 'no property of this name', propertyHint(name, shape.properties));
    }
  }
  return properties;
}

function propertyHint(name: string, properties: readonly string[]): string {
  const nearest = nearestWord(name, properties);
  return nearest === null
    ? `the properties here are ${properties.join(', ')}`
    : `did you mean "${nearest}"?`;
}

/** As `readObject`, for objects whose property names are the author's. */
export function readProperties(
  value: unknown,
  path: string,
  what: string,
  problems: ProblemList,
): ReadonlyMap<string, unknown> | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.add(path, value, what);
    return null;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  // `{ __proto__: view(…) }` names no property but sets the prototype: never lose what the author wrote there.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    problems.add(path, value, `${what}, without a prototype of its own`);
    return null;
  }
  return new Map(Object.entries(value).filter(([, property]) => property !== undefined));
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
const STREAM_NAME = /^[A-Za-z0-9_.-]+$/;

export function readName(value: unknown, path: string, problems: ProblemList): string {
  if (typeof value === 'string' && isName(value)) return value;
  problems.add(path, value, NAME_EXPECTED);
  return '';
}

/** Notes a property name that is no name: those of views and aggregates appear in keys, addresses and file names. */
export function checkName(name: string, path: string, problems: ProblemList): void {
  if (isName(name)) return;
  problems.add(path, name, NAME_EXPECTED);
}

const NAME_EXPECTED =
  `a name of 1 to ${NAME_LENGTH_MAX} letters, digits and "_", "-", ".", ` +
  'the first a letter or a digit';

function isName(text: string): boolean {
  return text.length <= NAME_LENGTH_MAX && NAME.test(text);
}

export function readStreamName(value: unknown, path: string, problems: ProblemList): string {
  if (typeof value === 'string' && value.length <= STREAM_NAME_LENGTH_MAX) {
    if (STREAM_NAME.test(value)) return value;
  }
  const expected = `a stream name of 1 to ${STREAM_NAME_LENGTH_MAX} letters, digits and "_", "-", "."`;
  problems.add(path, value, expected);
  return '';
}

export function readCategory(value: unknown, path: string, problems: ProblemList): string {
  const fits = typeof value === 'string' && value.length > 0 && value.length <= CATEGORY_LENGTH_MAX;
  if (fits) return value;
  problems.add(path, value, `a category: a text of 1 to ${CATEGORY_LENGTH_MAX} characters`);
  return '';
}

/** Stands for a path that could not be read. No path of a file equals it. */
const NO_PATH: FieldPath = [''];

export function readFieldPath(value: unknown, path: string, problems: ProblemList): FieldPath {
  const field = typeof value === 'string' ? parseFieldPath(value) : null;
  if (field !== null) return field;
  const expected = 'the name of a field, or names joined by dots such as "customer.id"';
  problems.add(path, value, expected, fieldPathHint(value));
  return NO_PATH;
}

function fieldPathHint(value: unknown): string | undefined {
  if (value === '*') return '"*" stands for whole records: only a count takes it';
  if (typeof value !== 'string' || value === '') return undefined;
  return 'in a name write a dot as "\\." and a backslash as "\\\\" (doubled once more inside JSON quotes)';
}

export function readChoice<Choice extends string>(
  value: unknown,
  path: string,
  choices: readonly [Choice, ...Choice[]],
  problems: ProblemList,
): Choice {
  const choice = choices.find((candidate) => candidate === value);
  if (choice !== undefined) return choice;
  problems.add(path, value, choices.map((candidate) => `"${candidate}"`).join(' or '));
  return choices[0];
}

export interface DurationRule {
  /** The smallest that makes sense: 0 or 1. */
  readonly msMin: 0 | 1;
  /** Another text that is allowed, for the message. */
  readonly orWord?: string;
}

export function readDuration(
  value: unknown,
  path: string,
  rule: DurationRule,
  problems: ProblemList,
): ParsedDuration {
  const duration = typeof value === 'string' ? parseDuration(value) : null;
  if (duration !== null && duration.ms >= rule.msMin) return duration;
  const kind = rule.msMin === 0 ? 'a duration' : 'a duration above zero';
  const orWord = rule.orWord === undefined ? '' : `, or "${rule.orWord}"`;
  const expected = `${kind} of at most 3650d, such as "500ms", "30s", "10m", "1h30m" or "7d"${orWord}`;
  problems.add(path, value, expected, durationHint(value));
  return { ms: 1, days: 0, mixed: false };
}

function durationHint(value: unknown): string | undefined {
  if (typeof value === 'number') return 'write the unit too, in quotes';
  if (typeof value !== 'string') return undefined;
  if (/^[0-9]+$/.test(value)) return 'write the unit too: ms, s, m, h or d';
  if (/^[0-9]*\.[0-9]+/.test(value)) return 'whole numbers only: "1h30m" instead of "1.5h"';
  if (/^[0-9]+ ?w(eeks?)?$/i.test(value)) return 'write weeks as days: "7d"';
  if (CALENDAR_UNIT.test(value)) {
    const minutes = / ?M$/.test(value) ? `; minutes are "${Number.parseInt(value, 10)}m"` : '';
    return `there is no unit for months, quarters and years, whose lengths differ: write days, such as "30d"${minutes}`;
  }
  if (/^-?P/i.test(value))
    return 'without the P and T of ISO 8601, in small letters: "1h30m", "7d"';
  const spelled = withUnitsFor(value.toLowerCase().replaceAll(' ', ''));
  if (spelled !== value && parseDuration(spelled) !== null) return `did you mean "${spelled}"?`;
  return undefined;
}

/** A capital M is as likely a month as a minute. */
const CALENDAR_UNIT = /^[0-9]+ ?(M|[Mm][Oo](n(th)?s?)?|[Qq](uarters?)?|[Yy](rs?|ears?)?)$/;

const UNIT_WORDS = [
  [/(milliseconds?|millis|msecs?)/g, 'ms'],
  [/(seconds?|secs?)/g, 's'],
  [/(minutes?|mins?)/g, 'm'],
  [/(hours?|hrs?)/g, 'h'],
  [/days?/g, 'd'],
] as const;

function withUnitsFor(text: string): string {
  return UNIT_WORDS.reduce((spelled, [word, unit]) => spelled.replaceAll(word, unit), text);
}

/** Notes a collection that has none, or more than the bound. */
export function checkCount(
  count: number,
  bounds: { readonly min: number; readonly max: number; readonly of: string },
  path: string,
  problems: ProblemList,
): void {
  const { min, max, of } = bounds;
  if (count >= min && count <= max) return;
  problems.addFound(path, count === 0 ? 'none' : `${count}`, `${min} to ${max} ${of}`);
}

/** The words in a message: "a", "b" or "c". */
export function orList(words: readonly string[]): string {
  const quoted = words.map((word) => describeValue(word));
  const last = quoted.pop() ?? '';
  return quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`;
}
