import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter } from '../../../core/bytes.ts';
import { STATUS_CODES } from '../../../core/checkpoint/head.ts';
import {
  decodeReference,
  HOME_CODES,
  KIND_CODES,
  PLACE_CODES,
} from '../../../core/checkpoint/names.ts';
import { Codes } from '../../../core/codes.ts';
import { AGGREGATE_CODES } from '../../../core/definition/kinds/aggregate-kinds.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import { EFFECT_CODES } from '../../../core/state/state-change.ts';
import { decodeStoredView, ENTRY_CODES, LATE_CODES } from '../../../core/state/view-life.ts';

/** What stored bytes mean: a line may be added, and none may change. */
const FROZEN: readonly [codes: Codes<string>, what: string, names: Record<string, number>][] = [
  [KIND_CODES, "a blob's kind", { delta: 0, base: 1, run: 2, merged: 3 }],
  [PLACE_CODES, "a blob's place", { item: 0, object: 1 }],
  [HOME_CODES, "a blob's slice", { own: 0 }],
  [EFFECT_CODES, 'an effect', { quarantined: 0 }],
  [ENTRY_CODES, 'a form of entries', { 'replaced-by-start': 0 }],
  [STATUS_CODES, "a slice's status", { OPEN: 0, RECOVERING: 1, OPENING: 2, SEALED: 3 }],
  [LATE_CODES, 'a policy for late records', { update: 0, side: 1, drop: 2 }],
  [AGGREGATE_CODES, 'an aggregate', { count: 0, sum: 1, min: 2, max: 3, mean: 4, quantile: 5 }],
];

describe('the codes of stored names', () => {
  it.each(FROZEN)('are what they were: %#', (codes, what, names) => {
    for (const [name, code] of Object.entries(names)) {
      const writer = new ByteWriter();
      codes.encode(name, writer);
      expect([...writer.peek()]).toEqual([code]);
      expect(codes.decode(new ByteReader(writer.peek()))).toBe(name);
    }
    // Each byte that is none of these is refused, not read as a name that the list forgets.
    for (let code = 0; code < 256; code++) {
      if (Object.values(names).includes(code)) continue;
      expect(() => codes.decode(new ByteReader(Uint8Array.of(code)))).toThrow(
        new CorruptStateFault(`${code} is no code of ${what}`),
      );
    }
  });

  it.each([
    ['kind', [9, 0], "9 is no code of a blob's kind"],
    ['place', [0, 9], "9 is no code of a blob's place"],
    ['slice', [0, 0, 1], "1 is no code of a blob's slice"],
  ])('stand apart in a reference: %s', (_, bytes, message) => {
    expect(() => decodeReference(new ByteReader(Uint8Array.from(bytes)))).toThrow(message);
  });

  it.each([
    ['policy', [9], '9 is no code of a policy for late records'],
    ['form of entries', [0, 1], '1 is no code of a form of entries'],
    ['aggregate', [0, 0, 0, 0, 1, 9], '9 is no code of an aggregate'],
  ])('of a view are refused by name where they are unknown: %s', (_, bytes, message) => {
    const view = Uint8Array.from([0, ...new Uint8Array(16), ...bytes]);
    expect(() => decodeStoredView(new ByteReader(view))).toThrow(message);
  });

  it('are one name each', () => {
    expect(() => new Codes('a pair', { one: 1, other: 1 })).toThrow('codes-are-of-one-name-each');
    expect(() => new Codes('a number', { large: 256 })).toThrow('codes-are-of-one-name-each');
  });
});
