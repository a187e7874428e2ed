import { describe, expect, it } from 'vitest';
import { describeAnswer, type ViewAnswer } from '../../../cli/answer-text.ts';

const day = { start: '2026-11-29T00:00:00.000Z', end: '2026-11-30T00:00:00.000Z' };

const WINDOWED: ViewAnswer = {
  view: 'by_day',
  watermark: '2026-11-30T08:00:00.000Z',
  complete: true,
  closedBefore: '2026-11-30T00:00:00.000Z',
  rows: [{ key: { shop: 'A' }, window: day, closed: true, values: { n: 1 } }],
  next: null,
};
const { closedBefore: _, ...REST } = WINDOWED;
const OF_ALL_TIME: ViewAnswer = {
  ...REST,
  view: 'by_shop',
  complete: false,
  incomplete: ['no-windows'],
  rows: [{ key: { shop: 'A' }, window: null, closed: false, values: { n: 1 } }],
};
const NO_END: ViewAnswer = { ...WINDOWED, complete: false, incomplete: ['no-end'] };

const headingOf = (answer: ViewAnswer) => describeAnswer(answer).split('\n')[0];
/** What is below the table of one row. */
const notesOf = (answer: ViewAnswer) => describeAnswer(answer).split('\n').slice(4);

describe('how far an answer holds', () => {
  it.each([
    ['all that was asked for has closed', WINDOWED, 'complete'],
    ['windows go on opening', NO_END, 'closed up to 2026-11-30T00:00:00Z'],
    [
      'windows before end are open',
      { ...WINDOWED, complete: false, incomplete: ['open-windows'] as const },
      'closed up to 2026-11-30T00:00:00Z',
    ],
    ['none has closed', { ...NO_END, closedBefore: null }, 'nothing closed yet'],
    [
      'an aggregate began later',
      { ...WINDOWED, complete: false, incomplete: ['partial'] as const },
      'closed, but not complete',
    ],
    ['each record changes it', OF_ALL_TIME, 'goes on growing'],
  ])('where %s', (_, answer, standing) => {
    const asOf = `${answer.view}: as of watermark 2026-11-30T08:00:00Z`;
    expect(headingOf(answer)).toBe(`${asOf}, ${standing}`);
    expect(headingOf({ ...answer, rows: [] })).toBe(`${asOf}, ${standing}`);
  });

  it('and of an empty pipeline nothing is called complete', () => {
    const empty = { watermark: null, rows: [] };
    expect(describeAnswer({ ...OF_ALL_TIME, ...empty })).toBe(
      'by_shop: no watermark yet, goes on growing\nno rows',
    );
    expect(describeAnswer({ ...NO_END, ...empty, closedBefore: null })).toBe(
      'by_day: no watermark yet, nothing closed yet\nno rows',
    );
    const waiting = { ...OF_ALL_TIME, ...empty, waiting: ['slice-1'] };
    expect(describeAnswer(waiting).split('\n')).toEqual([
      'by_shop: watermark not known, goes on growing',
      'no rows',
      expect.stringMatching(/^nothing is folded yet of slice-1, /),
    ]);
  });
});

describe('what must be known about the rows', () => {
  it('is nothing where the answer is complete', () => {
    expect(notesOf(WINDOWED)).toEqual([]);
  });

  it('is which end asks for what has closed, before the next page', () => {
    expect(notesOf({ ...NO_END, next: 'T0' })).toEqual([
      'for what has closed, ask with --end 2026-11-30T00:00:00Z',
      'for the next page add to this command: --next T0',
    ]);
    expect(notesOf({ ...NO_END, closedBefore: null })).toEqual([]);
  });

  it('holds of quarantined records whether they wait or are purged, and for which view they were', () => {
    const [one] = notesOf({ ...WINDOWED, quarantined: 1 });
    expect(one).toMatch(/^1 record of the pipeline was quarantined, for this view or for others; /);
    const [many] = notesOf({ ...OF_ALL_TIME, quarantined: 1_100 });
    expect(many).toBe(
      '1,100 records of the pipeline were quarantined, for this view or for others; what was for this view is not in the rows (what waits: npx tidemark quarantine --summary)',
    );
  });

  it('names what cannot be read, what is being recovered, and shards without a record', () => {
    const damaged = [{ slice: 'slice-1', epoch: 7 }];
    const incomplete = ['damaged', 'recovering'] as const;
    expect(notesOf({ ...WINDOWED, complete: false, incomplete, damaged })).toEqual([
      'stored results cannot be read, so the rows lack what they hold: epoch 7 of slice-1',
      'a slice is being recovered, and the rows lack records until it has caught up',
    ]);
    const place = (minute: number, key: string) => ({
      window: `2026-11-30T10:0${minute}:00.000Z`,
      key: { key },
    });
    const ranges = [
      { from: null, to: null },
      { from: null, to: place(1, 'LAX') },
      { from: place(1, 'LAX'), to: place(2, '7') },
      { from: { window: null, key: { key: 'LAX' } }, to: null },
    ];
    const parts = ranges.map((range) => ({ slice: 'slice-1', epoch: 7, ...range }));
    for (const [index, text] of [
      'all that has not closed',
      'by window and key, rows from the first to before 2026-11-30T10:01:00Z LAX',
      'by window and key, rows from 2026-11-30T10:01:00Z LAX to before 2026-11-30T10:02:00Z "7"',
      'by window and key, rows from LAX on',
    ].entries()) {
      const [note] = notesOf({ ...WINDOWED, damaged: [parts[index]!] });
      expect(note).toMatch(/: epoch 7 of slice-1 \(.*\)$/);
      expect(note).toContain(`(${text})`);
    }
    const exempt = ['slice-2'];
    expect(notesOf({ ...WINDOWED, exempt })).toEqual([
      'no record yet: slice-2: the first one there may be of any window',
    ]);
    expect(notesOf({ ...OF_ALL_TIME, exempt })).toEqual([]);
  });

  it.each([
    [
      '2026-11-30T10:00:00.001Z',
      'it is whole in windows from 2026-11-30T10:00:00.001Z on (--start)',
    ],
    [null, 'from which window on it is whole is not known yet'],
  ])(
    'is which aggregate lacks records, with or without such rows: whole since %s',
    (since, from) => {
      const lacks = '* n lacks the records from before it began in this view';
      const asked: ViewAnswer = {
        ...WINDOWED,
        complete: false,
        incomplete: ['partial'],
        wholeSince: { n: since },
      };
      const rows = WINDOWED.rows.map((row) => ({ ...row, partial: ['n'] }));
      expect(notesOf({ ...asked, rows })).toEqual([`${lacks}: ${from}`]);
      expect(describeAnswer({ ...asked, rows: [] })).toContain(`\n${lacks}: ${from}`);
      const incomplete = ['no-windows', 'partial'] as const;
      expect(notesOf({ ...OF_ALL_TIME, incomplete, wholeSince: { n: since } })).toEqual([lacks]);
    },
  );
});
