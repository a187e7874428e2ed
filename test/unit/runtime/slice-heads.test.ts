import { describe, expect, it } from 'vitest';
import type { PreviousPlan } from '../../../core/checkpoint/head.ts';
import { START } from '../../../core/position.ts';
import { FailureNews } from '../../../runtime/failure-news.ts';
import { neededAfter } from '../../../runtime/slice-heads.ts';

const NOW_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;
const at = (sequenceNumber: string) => ({ sequenceNumber, subSequence: 0 });

function left(cursor: string, sinceMs: number): PreviousPlan {
  return {
    planHash: 'h',
    base: null,
    chainSince: 0,
    delta: {} as never,
    cursor: at(cursor),
    sinceMs,
  };
}

describe('the records that a stream must keep', () => {
  it.each([
    ['without a plan before, those after the floor', null, at('500')],
    ['those after a plan that was left before the floor', left('300', NOW_MS - 1), at('300')],
    ['those after the floor where that is older', left('700', NOW_MS - 1), at('500')],
    ['no more for a rollback once its time is over', left('300', NOW_MS - DAY_MS), at('500')],
  ])('are, %s', (_, previous, expected) => {
    expect(neededAfter({ replayFrom: at('500'), previous }, NOW_MS)).toEqual(expected);
  });

  it('are all of them for a slice that has no floor yet', () => {
    expect(neededAfter({ replayFrom: START, previous: left('300', NOW_MS) }, NOW_MS)).toEqual(
      START,
    );
  });
});

describe('FailureNews', () => {
  const failure = { name: 'HeldFault', message: 'held', hint: null, stack: null };

  it('are told once, again when they differ, and again after it went well', () => {
    const news = new FailureNews();

    expect([news.isNew('a', failure), news.isNew('a', failure)]).toEqual([true, false]);
    expect(news.isNew('b', failure)).toBe(true);
    expect(news.isNew('a', { ...failure, message: 'other' })).toBe(true);
    news.over('a');
    expect(news.isNew('a', { ...failure, message: 'other' })).toBe(true);
  });
});
