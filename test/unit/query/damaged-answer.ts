/** Answers that name damaged rows, by origin. */
import { expect } from 'vitest';
import type { ViewAnswer } from '../../../core/query/view-answer.ts';
import { type PlainRow, plainRow } from './query-world.ts';

/** Of the rows outside the range that an answer names as damaged, all are there and right; some are inside. */
export function expectRightOutside(
  { rows, damaged = [], incomplete }: ViewAnswer,
  expected: readonly PlainRow[],
): void {
  expect(incomplete).toContain('damaged');
  expect(damaged).toHaveLength(1);
  const [{ from, to } = {}] = damaged;
  const place = (bound: typeof from) => String(bound?.key['origin']);
  const isOutside = ({ key }: { key: Readonly<Record<string, unknown>> }) =>
    String(key['origin']) < place(from) || String(key['origin']) >= place(to);
  const found = rows.map(plainRow).filter(isOutside);
  const sound = expected.filter(isOutside);
  expect(sound.length).toBeLessThan(expected.length);
  expect(found).toHaveLength(sound.length);
  expect(new Set(found.map((row) => JSON.stringify(row)))).toEqual(
    new Set(sound.map((row) => JSON.stringify(row))),
  );
}
