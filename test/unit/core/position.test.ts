import { describe, expect, it } from 'vitest';
import { InvariantFault } from '../../../core/faults.ts';
import {
  comparePositions,
  compareRecords,
  compareSequenceNumbers,
  countUpTo,
  isSequenceNumber,
  START,
  sortablePosition,
} from '../../../core/position.ts';

const LARGEST = '9'.repeat(56);
const ASCENDING = [
  '0',
  '1',
  '9',
  '10',
  '99',
  '9007199254740992',
  '9007199254740993',
  `4${'0'.repeat(54)}1`,
  `4${'0'.repeat(54)}2`,
  LARGEST,
];
const at = (sequenceNumber: string, subSequence = 0) => ({ sequenceNumber, subSequence });

describe('sequence numbers', () => {
  it('are ordered as integers are, whatever their lengths', () => {
    for (const [i, a] of ASCENDING.entries()) {
      for (const [j, b] of ASCENDING.entries()) {
        expect(Math.sign(compareSequenceNumbers(a, b)), `${a} ${b}`).toBe(Math.sign(i - j));
      }
    }
  });

  it.each(['', '00', '01', '-1', '+1', '1.0', '1e3', ' 1', '1\n', '٣', '9'.repeat(57)])(
    'are not spelt %j',
    (text) => {
      expect(isSequenceNumber(text)).toBe(false);
      expect(() => sortablePosition(at(text))).toThrow(InvariantFault);
    },
  );

  it.each(ASCENDING)('are spelt %s', (text) => {
    expect(isSequenceNumber(text)).toBe(true);
  });
});

describe('positions', () => {
  const positions = ASCENDING.flatMap((sequence) => [
    at(sequence, 0),
    at(sequence, 2),
    at(sequence, 10),
  ]);

  it('are ordered by sequence number: what lies inside one Kinesis record is at one place', () => {
    for (const [i, a] of positions.entries()) {
      for (const [j, b] of positions.entries()) {
        const expected = Math.sign(Math.floor(i / 3) - Math.floor(j / 3));
        expect(Math.sign(comparePositions(a, b))).toBe(expected);
      }
    }
  });

  it('of records are ordered inside a Kinesis record too', () => {
    for (const [i, a] of positions.entries()) {
      for (const [j, b] of positions.entries()) {
        expect(Math.sign(compareRecords(a, b))).toBe(Math.sign(i - j));
      }
    }
  });

  it('count whole Kinesis records', () => {
    for (const [i, sequence] of ASCENDING.entries()) {
      for (const subSequence of [0, 1, 2, 99]) {
        expect(countUpTo(positions, at(sequence, subSequence))).toBe(3 * (i + 1));
      }
    }
    expect(countUpTo(positions.slice(3), START)).toBe(0);
    expect(countUpTo([], START)).toBe(0);
  });

  it('sort as text as they do as positions, in one width', () => {
    const texts = positions.map(sortablePosition);
    expect([...texts].sort()).toEqual(texts);
    expect(new Set(texts).size).toBe(texts.length);
    expect(new Set(texts.map(({ length }) => length))).toEqual(new Set([67]));
  });

  it('begin before every record', () => {
    expect(comparePositions(START, at('1'))).toBeLessThan(0);
  });
});
