import { describe, expect, it } from 'vitest';
import type { Head } from '../../../core/checkpoint/head.ts';
import {
  assertSuccession,
  delivering,
  fencing,
  movesDelivered,
} from '../../../core/checkpoint/transitions.ts';
import { START } from '../../../core/position.ts';
import { Digest } from '../../../core/state/digest.ts';
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
    ['inside, as a later decoder sees it', { ...delivered, subSequence: 5 }, kept],
    ['before', head.cursor, kept],
  ])('%s what was delivered tells of the record at `delivered`', (_, position, told) => {
    expect(delivering(head, position, 99, '1'.repeat(16))).toMatchObject(told);
    expect(movesDelivered(head, position)).toBe(position === ahead);
  });
});

describe('the succession of HEADs', () => {
  const next: Head = {
    ...someHead,
    epoch: 18,
    revision: 41,
    nonce: '0'.repeat(16),
    cursor: someHead.delivered,
  };

  it.each<[string, Partial<Head>]>([
    ['an epoch', {}],
    ['a write that completes no epoch', { epoch: 17 }],
    ['an epoch without new records', { cursor: someHead.cursor }],
    [
      'a new timeline that begins further back',
      {
        timeline: 1,
        watermarkMs: -9,
        cursor: START,
        status: 'RECOVERING',
        generation: someHead.generation + 1,
      },
    ],
  ])('takes %s', (_, more) => {
    expect(() => assertSuccession(someHead, { ...next, ...more })).not.toThrow();
  });

  it.each<[string, Partial<Head>]>([
    ['a-slice-is-of-one-stream', { streamId: '9'.repeat(16) }],
    ['revision-counts-writes', { revision: 40 }],
    ['revision-counts-writes', { revision: 42 }],
    ['delivered-never-goes-back', { delivered: someHead.cursor }],
    ['a-gap-is-marked-with-delivered', { closesGap: false }],
    ['delivered-never-goes-back', { delivered: someHead.cursor, timeline: 1 }],
    ['epochs-are-dense', { epoch: 19 }],
    ['epochs-are-dense', { epoch: 16 }],
    ['timelines-only-grow', { timeline: -1 }],
    ['each-write-has-its-nonce', { nonce: someHead.nonce }],
    ['cursor-never-goes-back', { cursor: START }],
    ['digest-only-grows', { digest: new Digest(14) }],
    ['digest-only-grows', { recordCount: 20 }],
    ['positions-move-by-kinesis-records', { cursor: { ...someHead.cursor, subSequence: 2 } }],
    ['positions-move-by-kinesis-records', { delivered: { ...delivered, subSequence: 1 } }],
    ['watermark-only-grows', { watermarkMs: -1.6 }],
  ])('keeps %s', (invariant, more) => {
    expect(() => assertSuccession(someHead, { ...next, ...more })).toThrow(invariant);
  });
});

describe('the status of HEAD', () => {
  const { delivered, cursor } = someHead;
  const open = { ...someHead, delivered, status: 'OPEN' as const };
  const recovering = fencing(open, '2'.repeat(16), 1_000);
  const nextOf = (before: Head): Head => ({
    ...before,
    revision: before.revision + 1,
    nonce: '3'.repeat(16),
  });
  const epoch = { epoch: recovering.epoch + 1, cursor: delivered };

  it('is that of a recovery from a fence on, under an owner of its own', () => {
    expect(() => assertSuccession(open, recovering)).not.toThrow();
    const { generation } = open;
    expect(() => assertSuccession(open, { ...recovering, generation })).toThrow(
      'a-recovery-has-its-owner',
    );
  });

  it('is open again with an epoch that has caught up', () => {
    const reached = { ...nextOf(recovering), ...epoch, status: 'OPEN' as const };
    expect(() => assertSuccession(recovering, reached)).not.toThrow();
    for (const early of [{ cursor }, { epoch: recovering.epoch }]) {
      expect(() => assertSuccession(recovering, { ...reached, ...early })).toThrow(
        'a-slice-opens-once-it-has-caught-up',
      );
    }
  });

  it('is that of a recovery where HEAD went back behind what it answers for', () => {
    const back = { ...nextOf(open), timeline: open.timeline + 1, generation: open.generation + 1 };
    expect(() => assertSuccession(open, { ...back, cursor })).toThrow('what-went-back-recovers');
    expect(() => assertSuccession(open, { ...back, cursor: delivered })).not.toThrow();
  });

  it.each(['OPENING', 'SEALED'] as const)('never becomes %s, nor another from it', (status) => {
    expect(() => assertSuccession(open, { ...nextOf(open), status })).toThrow('as-drawn');
    const reserved = { ...open, status };
    expect(() => assertSuccession(reserved, nextOf(open))).toThrow('as-drawn');
  });
});
