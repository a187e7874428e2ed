import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatSequenceNumber,
  parseSequenceNumber,
} from '../../../adapters/local/stream/sequence-number.ts';
import { compareSequenceNumbers, isSequenceNumber } from '../../../core/position.ts';
import { NOW_MS } from './stream-fixture.ts';

const PARTS = { shardCreatedMs: NOW_MS, ordinal: 1, arrivalMs: NOW_MS + 5, shardIndex: 3 };
const anyMs = fc.integer({ min: 0, max: 9_999_999_999_999 });
const anyParts = fc.record({
  shardCreatedMs: anyMs,
  ordinal: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  arrivalMs: anyMs,
  shardIndex: fc.nat({ max: 999_999_999_999 }),
});

describe('sequence numbers of the local stream', () => {
  it('are 56 decimal digits that the core takes', () => {
    const text = formatSequenceNumber(PARTS);
    expect(text).toBe('49176732304567800000000000000011767323045683000000000003');
    expect(isSequenceNumber(text)).toBe(true);
  });

  it('give back what they were made of', () => {
    fc.assert(
      fc.property(anyParts, (parts) => {
        expect(parseSequenceNumber(formatSequenceNumber(parts))).toEqual(parts);
      }),
    );
  });

  it('increase with the ordinal, whatever the arrival time and as numbers too', () => {
    fc.assert(
      fc.property(anyParts, anyParts, (one, other) => {
        const a = { ...one, shardCreatedMs: NOW_MS };
        const b = { ...other, shardCreatedMs: NOW_MS };
        fc.pre(a.ordinal < b.ordinal);
        const [left, right] = [formatSequenceNumber(a), formatSequenceNumber(b)];
        expect(compareSequenceNumbers(left, right)).toBeLessThan(0);
        expect(BigInt(left) < BigInt(right)).toBe(true);
      }),
    );
  });

  it('are not dense', () => {
    const next = formatSequenceNumber({ ...PARTS, ordinal: 2 });
    expect(BigInt(next) - BigInt(formatSequenceNumber(PARTS))).toBeGreaterThan(1n);
  });

  it('of a shard that was made later are larger', () => {
    const late = formatSequenceNumber({ ...PARTS, ordinal: 1_000_000 });
    const child = formatSequenceNumber({ ...PARTS, shardCreatedMs: NOW_MS + 1, ordinal: 0 });
    expect(compareSequenceNumbers(late, child)).toBeLessThan(0);
  });

  it.each([
    ['too short', '491767323045678000000000000000117673230456830000000000'],
    ['too long', '491767323045678000000000000000117673230456830000000000033'],
    ['of another beginning', '59176732304567800000000000000011767323045683000000000003'],
    ['not digits', '4917673230456780000000000000001176732304568300000000000x'],
    ['of an ordinal beyond 2^53', '49176732304567899999999999999991767323045683000000000003'],
    ['zero', '0'],
    ['empty', ''],
  ])('that are %s are not parsed', (_, text) => {
    expect(parseSequenceNumber(text)).toBeNull();
  });
});
