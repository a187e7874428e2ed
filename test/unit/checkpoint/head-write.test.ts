import { describe, expect, it } from 'vitest';
import { delivering, movesDelivered } from '../../../core/checkpoint/head-write.ts';
import { someHead } from './blob-fixture.ts';

const head = { ...someHead, closesGap: true, deliveredArrivalMs: 77 };
const { delivered } = head;
const ahead = { sequenceNumber: `${delivered.sequenceNumber}0`, subSequence: 0 };
const kept = { delivered, deliveredArrivalMs: 77, closesGap: true };

describe('an answer for a batch', () => {
  it.each([
    ['after', ahead, { delivered: ahead, deliveredArrivalMs: 99, closesGap: false }],
    ['at, as an equal', { ...delivered }, kept],
    ['at, as the very object', delivered, kept],
    ['before', head.cursor, kept],
  ])('%s what was delivered tells of the record at `delivered`', (_, position, told) => {
    expect(delivering(head, position, 99, '1'.repeat(16))).toMatchObject(told);
    expect(movesDelivered(head, position)).toBe(position === ahead);
  });
});
