/**
 * What an operation takes: members by name, each with its type and constraints. A wrong type is a SerializationException; broken
 * constraints are collected, as Kinesis does, into one ValidationException. Absent and null are the same; unknown members
 * are ignored.
 */
import { serialization, validation } from './kinesis-error.ts';

/** Kinesis reports no more than this many broken constraints at once. */
const VIOLATIONS_MAX = 10;

/** Reads a value that is not null; adds to `violations` what it breaks. */
type Reader<T> = (value: unknown, at: string, violations: string[]) => T;

export interface Member<T, Required extends boolean> {
  readonly read: Reader<T>;
  readonly required: Required;
}

export type Shape = Readonly<Record<string, Member<unknown, boolean>>>;

/** Optional members that are absent are null. */
export type Input<S extends Shape> = {
  readonly [Name in keyof S]: S[Name] extends Member<infer T, infer Required>
    ? Required extends true
      ? T
      : T | null
    : never;
};

export type Body = Readonly<Record<string, unknown>>;

/** The members of a request, or the error that Kinesis would answer. */
export function readInput<S extends Shape>(body: Body, shape: S): Input<S> {
  const violations: string[] = [];
  const input = readMembers(body, shape, '', violations);
  if (violations.length > 0) throw validation(violations.slice(0, VIOLATIONS_MAX));
  return input;
}

export function required<T>(member: Member<T, false>): Member<T, true> {
  return { read: member.read, required: true };
}

interface TextConstraints {
  readonly lengthMin?: number;
  readonly lengthMax?: number;
  readonly pattern?: string;
}

export function text(constraints: TextConstraints = {}): Member<string, false> {
  const { lengthMin = 0, lengthMax = Number.POSITIVE_INFINITY } = constraints;
  const pattern =
    constraints.pattern === undefined ? null : new RegExp(`^(?:${constraints.pattern})$`);
  return optional((value, at, violations) => {
    if (typeof value !== 'string') throw wrongType(at, value, 'String');
    if (pattern !== null && !pattern.test(value)) {
      const wanted = `satisfy regular expression pattern: ${constraints.pattern}`;
      violations.push(violation(`'${value}'`, at, wanted));
    }
    if (value.length < lengthMin) {
      const wanted = `have length greater than or equal to ${lengthMin}`;
      violations.push(violation(`'${value}'`, at, wanted));
    }
    if (value.length > lengthMax) {
      violations.push(violation('', at, `have length less than or equal to ${lengthMax}`));
    }
    return value;
  });
}

export function choice<T extends string>(...values: readonly T[]): Member<T, false> {
  return optional((value, at, violations) => {
    if (typeof value !== 'string') throw wrongType(at, value, 'String');
    if (!values.includes(value as T)) {
      violations.push(
        violation(`'${value}'`, at, `satisfy enum value set: [${values.join(', ')}]`),
      );
    }
    return value as T;
  });
}

export function integer(min: number, max: number): Member<number, false> {
  return optional((value, at, violations) => {
    if (typeof value !== 'number') throw wrongType(at, value, 'Integer');
    const whole = Math.trunc(value);
    if (whole < min) {
      violations.push(violation(`'${whole}'`, at, `have value greater than or equal to ${min}`));
    }
    if (whole > max) {
      violations.push(violation(`'${whole}'`, at, `have value less than or equal to ${max}`));
    }
    return whole;
  });
}

/** Seconds since the epoch on the wire, milliseconds here. */
export function timestamp(): Member<number, false> {
  return optional((value, at) => {
    if (typeof value !== 'number') throw wrongType(at, value, 'Timestamp');
    return Math.round(value * 1000);
  });
}

/** Base64 on the wire, still base64 here. `bytesMax` is of what it decodes to. */
export function blob(bytesMax: number): Member<string, false> {
  return optional((value, at, violations) => {
    if (typeof value !== 'string') throw wrongType(at, value, 'Blob');
    if (base64ByteLength(value) > bytesMax) {
      violations.push(violation('', at, `have length less than or equal to ${bytesMax}`));
    }
    return value;
  });
}

export function structure<S extends Shape>(shape: S): Member<Input<S>, false> {
  return optional((value, at, violations) => {
    if (!isBody(value)) throw wrongType(at, value, 'Structure');
    return readMembers(value, shape, `${at}.`, violations);
  });
}

export function list<S extends Shape>(
  shape: S,
  countMin: number,
  countMax: number,
): Member<Input<S>[], false> {
  return optional((value, at, violations) => {
    if (!Array.isArray(value)) throw wrongType(at, value, 'List');
    if (value.length < countMin) {
      violations.push(violation(`'[]'`, at, `have length greater than or equal to ${countMin}`));
    }
    if (value.length > countMax) {
      violations.push(violation('', at, `have length less than or equal to ${countMax}`));
    }
    return value.map((item, index) => {
      const itemAt = `${at}.${index + 1}.member`;
      if (!isBody(item)) throw wrongType(itemAt, item, 'Structure');
      return readMembers(item, shape, `${itemAt}.`, violations);
    });
  });
}

/** Bytes that a base64 string stands for if it is well formed; some number from 0 up if it is not. */
export function base64ByteLength(base64: string): number {
  const length = base64.length;
  if (length === 0) return 0;
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.max(0, (length >>> 2) * 3 - padding);
}

export function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function optional<T>(read: Reader<T>): Member<T, false> {
  return { read, required: false };
}

function readMembers<S extends Shape>(
  body: Body,
  shape: S,
  prefix: string,
  violations: string[],
): Input<S> {
  const input: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(shape)) {
    const at = prefix + lowerFirst(name);
    const value = Object.hasOwn(body, name) ? body[name] : null;
    if (value === null || value === undefined) {
      input[name] = null;
      if (member.required) violations.push(violation('null', at, 'not be null'));
    } else input[name] = member.read(value, at, violations);
  }
  return input as Input<S>;
}

function violation(value: string, at: string, wanted: string): string {
  const found = value === '' ? 'Value' : `Value ${value}`;
  return `${found} at '${at}' failed to satisfy constraint: Member must ${wanted}`;
}

function wrongType(at: string, value: unknown, wanted: string) {
  return serialization(`${at}: ${typeName(value)} cannot be converted to ${wanted}`);
}

function typeName(value: unknown): string {
  if (value === null) return 'NULL_VALUE';
  if (Array.isArray(value)) return 'LIST';
  return typeof value === 'object' ? 'STRUCTURE' : `${typeof value}_VALUE`.toUpperCase();
}

function lowerFirst(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}
