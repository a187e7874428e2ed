import { expect, it } from 'vitest';
import { wholeLines } from '../../../cli/commands/query.ts';

const row = (window: { start: string; end: string } | null) => ({
  key: {},
  window,
  closed: true,
  values: { n: 1 },
  partial: ['n'],
});
const day = { start: '2026-11-29T00:00:00Z', end: '2026-11-30T00:00:00Z' };

it('the mark of partial values is explained as it is, whether a view or an aggregate began later', () => {
  expect(wholeLines({ rows: [row(day)], wholeSince: { n: '2026-11-30T10:00:00.001Z' } })).toEqual([
    '* n lacks the records from before it began in this view: it is whole in windows from 2026-11-30T10:00:00.001Z on',
  ]);
  expect(wholeLines({ rows: [row(day)], wholeSince: { n: null } })).toEqual([
    '* n lacks the records from before it began in this view: from which window on it is whole is not known yet',
  ]);
});

it('of all time no windows are promised', () => {
  for (const since of [null, '2026-11-30T10:00:00.001Z']) {
    expect(wholeLines({ rows: [row(null)], wholeSince: { n: since } })).toEqual([
      '* n lacks the records from before it began in this view',
    ]);
  }
});
