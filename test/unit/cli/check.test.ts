import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describePlan } from '../../../cli/commands/check.ts';
import { loadPipelineFile } from '../../../cli/pipeline-file.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import { planToJson } from '../../../core/definition/plan-json.ts';
import { temporaryFolder } from '../adapters-local/temporary-folder.ts';

const VIEWS = {
  by_day: {
    groupBy: ['shop'],
    window: { tumbling: '1d' },
    late: 'side',
    aggregates: { n: { count: '*' } },
  },
  ever: { aggregates: { n: { count: '*' } } },
};

function planOf(part: object) {
  const parsed = parsePlan({ name: 'shop', views: VIEWS, ...part });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

const NOW_MS = Date.UTC(2026, 10, 30, 16, 40);
const linesOf = (part: object) =>
  describePlan(planOf(part), 'shop.json', NOW_MS).split('\n').slice(1);

it('check says what holds of time, of dedupe and of late records, defaults too', () => {
  const time = { field: 'at', unit: 's', zone: 'Europe/Berlin', lateness: '5m', idle: '1h' };
  expect(linesOf({ time, dedupe: { id: 'order', within: '1h' } })).toEqual([
    '  time: at (ISO 8601 text, or a number in s), zone Europe/Berlin, lateness 5m, skew 10m, earliest 2000-01-01T00:00:00Z, idle 1h',
    '  dedupe: by order within 1h',
    '  by_day: n by shop, windows of 1d (the one of now began 2026-11-30T00:00:00+01:00), late: side',
    '  ever: n of all records together, all time',
  ]);
  expect(linesOf({ time: { lateness: '5m' } }).slice(0, 2)).toEqual([
    '  time: that of arrival, zone UTC, lateness 5m, idle none',
    '  dedupe: none',
  ]);
});

it.each([
  ['24h', 'Europe/Berlin', '2026-11-30T01:00:00+01:00', 'is 01:00 or 02:00 in Europe/Berlin; "1d"'],
  ['48h', 'Asia/Kolkata', 'Sunday, 2026-11-29T05:30:00+05:30', 'is 05:30 in Asia/Kolkata; "2d"'],
  ['24h', 'UTC', '2026-11-30T00:00:00Z', null],
  ['36h', 'Europe/Berlin', 'Monday, 2026-11-30T01:00:00+01:00', null],
  ['1h', 'Europe/Berlin', '2026-11-30T17:00:00+01:00', null],
  ['1d', 'Europe/Berlin', '2026-11-30T00:00:00+01:00', null],
  ['3d', 'Europe/Berlin', 'Monday, 2026-11-30T00:00:00+01:00', null],
  ['7d', 'Europe/Berlin', 'Thursday, 2026-11-26T00:00:00+01:00', 'begin on a Thursday'],
  ['14d', 'UTC', 'Thursday, 2026-11-19T00:00:00Z', 'begin on a Thursday'],
])('check says where windows of %s in %s begin', (tumbling, zone, start, note) => {
  const views = { v: { window: { tumbling }, aggregates: { n: { count: '*' } } } };
  const lines = linesOf({ time: { zone }, views }).slice(2);
  expect(lines[0]).toMatch(/^ {2}v: n of all records together, windows of .*, late: update$/);
  expect(lines[0]).toContain(`(the one of now began ${start.includes(',') ? 'on ' : ''}${start})`);
  expect(lines.slice(1)).toEqual(note === null ? [] : [expect.stringContaining(note)]);
});

it('what check --json prints is a pipeline file of the same plan', async () => {
  const plan = planOf({ time: { field: 'at' } });
  const path = join(await temporaryFolder(), 'printed.json');
  const report = { hash: plan.hash, ...planToJson(plan), records: { refused: [] }, change: {} };
  writeFileSync(path, JSON.stringify(report));
  expect((await loadPipelineFile(path)).hash).toBe(plan.hash);
});
