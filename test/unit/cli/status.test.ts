import { describe, expect, it } from 'vitest';
import { describeStatus, type Status } from '../../../cli/commands/status.ts';

const STATUS: Status = {
  pipeline: 'shop',
  plan: { ordinal: 1, hash: '0123456789abcdef' },
  records: { folded: 1_200, quarantined: 0 },
  partlyQuarantined: 0,
  partlyDropped: 0,
  pastDedupe: 0,
  watermark: '2026-11-30T08:00:00.000+01:00',
  slices: [],
};

const linesOf = (more: Partial<Status>) => describeStatus({ ...STATUS, ...more }).split('\n');

describe('the status for a person', () => {
  it('of a pipeline where all is well has nothing but counts and slices', () => {
    expect(linesOf({}).slice(0, 3)).toEqual([
      'pipeline shop, plan 1 (01234567), watermark 2026-11-30T08:00:00+01:00',
      'records: folded 1,200, quarantined 0',
      expect.stringMatching(/^slice +state/),
    ]);
  });

  it('names what some views dropped, and what dedupe could not know', () => {
    expect(linesOf({ partlyDropped: 2, pastDedupe: 1_500 }).slice(2, 4)).toEqual([
      '2 of the folded records were late for some views, which dropped them',
      '1,500 of the folded records were older than dedupe.within when they came: those that were sent before count twice',
    ]);
  });

  it('explains a quarantine that lists more than is counted as quarantined', () => {
    expect(linesOf({ partlyQuarantined: 3 })[2]).toBe(
      '3 of the folded records were late for some views, which did not take them: for these views they were quarantined',
    );
  });

  it('names shards of which nothing is folded, a few of many, and why no watermark is known', () => {
    const slices = Array.from({ length: 9 }, (_, index) => `slice-${index}`);
    const lines = linesOf({ watermark: null, waiting: ['slice-x'], exempt: slices });
    expect(lines[0]).toContain('watermark not known');
    expect(linesOf({ watermark: null })[0]).toContain('watermark none yet');
    expect(lines.slice(2, 4)).toEqual([
      'nothing is folded yet of slice-x, although the stream has records there or does not say now, so the watermark is not known',
      'no record yet: slice-0, slice-1, slice-2, slice-3, slice-4 and 4 more',
    ]);
    const unlisted = linesOf({ listed: false, streamFault: 'it is \u001b gone: deploy it' });
    expect(unlisted[2]).toMatch(/^the stream does not say now which shards/);
    expect(unlisted[3]).toBe('the stream: it is \\u001b gone: deploy it');
  });
});
