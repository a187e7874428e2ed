import { describe, expect, it } from 'vitest';
import { describePurge } from '../../../cli/commands/quarantine.ts';
import { addReasons, describePage, describeReasons } from '../../../cli/quarantine-text.ts';

const record = {
  id: `slice-000000000000/0/${'0'.repeat(56)}.0000000000`,
  shardId: 'shardId-000000000000',
  reason: 'not-json',
  arrival: '2026-11-30T08:00:00.000+01:00',
};

describe('a page of the quarantine', () => {
  it('keeps to the width of the terminal but for ids, which stay whole', () => {
    const detail = 'why '.repeat(100);
    const data = Buffer.from('\u001b[2Jx'.repeat(100)).toString('base64');
    const text = describePage(
      { records: [{ ...record, detail, data }], next: null },
      { width: 80 },
    );
    const lines = text.split('\n');
    expect(lines.map((line) => line.slice(0, 8))).toEqual([
      'not-json',
      '  why   ',
      '  data  ',
      '  id    ',
    ]);
    expect(lines.slice(0, 3).every((line) => line.length <= 80)).toBe(true);
    expect(lines[2]).toMatch(/^ {2}data {2}\\u001b\[2Jx.*…$/);
    expect(lines[3]).toBe(`  id    ${record.id}`);
    expect(lines[0]).toContain('2026-11-30T08:00:00+01:00');
  });

  it('is whole where it goes to no terminal, up to what a person reads of one record', () => {
    const detail = 'why '.repeat(100).trimEnd();
    const pageOf = (text: string) => {
      const data = Buffer.from(text).toString('base64');
      return describePage({ records: [{ ...record, detail, data }], next: null }, {}).split('\n');
    };
    expect(pageOf('x'.repeat(4_096)).slice(1, 3)).toEqual([
      `  why   ${detail}`,
      `  data  ${'x'.repeat(4_096)}`,
    ]);
    expect(pageOf('x'.repeat(6_000))[2]).toMatch(
      /^ {2}data {2}x{4096}… and 1,904 bytes more: --json/,
    );
  });

  it('and counts name what cannot be read, once', () => {
    const damaged = [{ slice: 'slice-0', epoch: 3 }];
    const warning =
      /^warning: results cannot be read: slice-0 epoch 3\. Records that were redriven/m;
    expect(describePage({ records: [record], next: null, damaged })).toMatch(warning);
    expect(describePage({ records: [], next: null, damaged })).toMatch(warning);
    const counts = [{ reason: 'late', count: 2, first: record.arrival, last: record.arrival }];
    expect(describeReasons(counts, damaged)).toMatch(warning);
    expect(describeReasons([], damaged)).toMatch(warning);
    expect(describeReasons(counts)).not.toContain('warning');
  });

  it('of a query URL says where the rest is, and how to go on', () => {
    const text = describePage({ records: [record], next: 'abc' }, { width: 80 });
    expect(text).not.toContain('data');
    expect(text).toMatch(/--admin-url\nmore with --next abc\n.*--summary$/);
    expect(describePage({ records: [], next: null })).toBe('nothing in the quarantine is selected');
  });
});

it('counts of several answers are added, with the first and the last arrival of all', () => {
  const at = (hour: number) => `2026-11-30T0${hour}:00:00.000Z`;
  const sums = addReasons([
    [{ reason: 'late', count: 2, first: at(3), last: at(4) }],
    [
      { reason: 'not-json', count: 5, first: at(1), last: at(9) },
      { reason: 'late', count: 1, first: '2026-11-30T03:30:00.000+02:00', last: at(2) },
    ],
  ]);
  expect(sums).toEqual([
    { reason: 'not-json', count: 5, first: at(1), last: at(9) },
    { reason: 'late', count: 3, first: '2026-11-30T03:30:00.000+02:00', last: at(4) },
  ]);
  expect(describeReasons(sums)).toMatch(
    /^late +3 +2026-11-30T03:30:00\+02:00 +2026-11-30T04:00:00Z$/m,
  );
});

it('a purge that selects nothing says so', () => {
  const answer = { unknown: [], refused: [] };
  expect(describePurge({ ...answer, purged: 0 })).toBe('nothing in the quarantine is selected');
  expect(describePurge({ ...answer, purged: 2 })).toBe('2 purged');
});

it('a purge names what it left, why, and what could not be read', () => {
  const text = describePurge({
    purged: 2,
    unknown: ['slice-1/a'],
    refused: [{ id: 'slice-1/b', reason: 'it came back' }],
    damaged: [{ slice: 'slice-1', epoch: 7 }],
  });
  expect(text).toMatch(/^2 purged, 1 not purged, 1 unknown\n/);
  expect(text).toMatch(/slice-1\/b +it came back\n/);
  expect(text).toMatch(/slice-1\/a +no record that is kept has this id\n/);
  expect(text).toMatch(/warning: results cannot be read: slice-1 epoch 7/);
});
