import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { describeTrial } from '../../../cli/commands/check.ts';
import { readingOf } from '../../../cli/record-options.ts';
import { type RecordTrial, recordTrial } from '../../../cli/record-trial.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';

const NOW_MS = Date.UTC(2026, 10, 30);
const folder = mkdtempSync(join(tmpdir(), 'tidemark-trial-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const count = { groupBy: ['k'], aggregates: { n: { count: '*' } } };

async function tried(
  records: readonly object[],
  time: object = { field: 'at' },
): Promise<RecordTrial> {
  const parsed = parsePlan({ name: 'p', time, views: { v: count } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const path = join(folder, 'records.ndjson');
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  const reading = readingOf({}, parsed.plan, () => {});
  return recordTrial(parsed.plan, path, reading, NOW_MS);
}

it('a time in another unit is refused as it would be on arrival, with the likely unit', async () => {
  const { isSound, refused } = await tried([{ at: NOW_MS / 1000, k: 'a' }]);
  expect({ isSound, refused }).toEqual({
    isSound: false,
    refused: [
      {
        ...{ reason: 'too-far-in-the-past', records: 1, unit: 'line', number: 1 },
        detail: expect.stringContaining('is time.unit "s"?'),
      },
    ],
  });
});

it('a time is judged by time.skew and time.earliest, as if the record arrived now', async () => {
  const records = [
    { at: NOW_MS + 3_600_000, k: 'a' },
    { at: NOW_MS, k: 'a' },
    { at: Date.UTC(2024, 0, 1), k: 'a' },
  ];
  const time = { field: 'at', skew: '10m', earliest: '2025-01-01' };
  const { refused } = await tried(records, time);
  expect(refused.map(({ reason, number }) => [reason, number])).toEqual([
    ['too-far-in-the-future', 1],
    ['too-far-in-the-past', 3],
  ]);
  expect(await tried(records, { ...time, skew: '2h', earliest: 'none' })).toMatchObject({
    isSound: true,
    refused: [],
  });
});

it('a group key that is too large is refused', async () => {
  const { refused } = await tried([{ at: NOW_MS, k: 'k'.repeat(70_000) }]);
  expect(refused).toMatchObject([{ reason: 'group-key-too-large' }]);
});

it('a file without records shows nothing, and is not said to be right', async () => {
  const trial = await tried([]);
  expect(trial).toMatchObject({ isSound: false, records: 0 });
  expect(describeTrial(trial)).toContain('has no records: nothing was tried');
});

it('one record is called one', async () => {
  expect(describeTrial(await tried([{ at: NOW_MS, k: 'a' }]))).toContain(
    'the first record can be counted',
  );
});
