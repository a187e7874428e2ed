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

const linesOf = (part: object) => describePlan(planOf(part), 'shop.json').split('\n').slice(1);

it('check says what holds of time, of dedupe and of late records, defaults too', () => {
  const time = { field: 'at', unit: 's', zone: 'Europe/Berlin', lateness: '5m', idle: '1h' };
  expect(linesOf({ time, dedupe: { id: 'order', within: '1h' } })).toEqual([
    '  time: at (ISO 8601 text, or a number in s), zone Europe/Berlin, lateness 5m, skew 10m, earliest 2000-01-01T00:00:00Z, idle 1h',
    '  dedupe: by order within 1h',
    '  by_day: n by shop, windows of 1d, late: side',
    '  ever: n all records together, all time',
  ]);
  expect(linesOf({ time: { lateness: '5m' } }).slice(0, 2)).toEqual([
    '  time: that of arrival, zone UTC, lateness 5m, idle none',
    '  dedupe: none',
  ]);
});

it('what check --json prints is a pipeline file of the same plan', async () => {
  const plan = planOf({ time: { field: 'at' } });
  const path = join(await temporaryFolder(), 'printed.json');
  const report = { hash: plan.hash, ...planToJson(plan), records: { refused: [] }, change: {} };
  writeFileSync(path, JSON.stringify(report));
  expect((await loadPipelineFile(path)).hash).toBe(plan.hash);
});
