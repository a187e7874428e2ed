import { expect, it } from 'vitest';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import { formatProblems } from '../../../core/definition/problem.ts';

it('formats problems so that a person can repair the file', () => {
  const parsed = parsePlan({
    name: 'flights',
    views: {
      delay_by_origin: {
        groupBy: ['origin'],
        window: { tumbling: '1 h' },
        aggregates: { n: { cuont: '*' } },
      },
    },
  });
  const problems = parsed.ok ? [] : parsed.problems;
  expect(formatProblems('tidemark.config.ts', problems)).toBe(
    `tidemark.config.ts is not a valid pipeline (2 problems):

  views.delay_by_origin.window.tumbling
    found     "1 h"
    expected  a duration above zero of at most 3650d, such as "500ms", "30s", "10m", "1h30m" or "7d"
    hint      did you mean "1h"?

  views.delay_by_origin.aggregates.n
    found     "cuont"
    expected  one of "count", "sum", "min", "max", "mean" or "quantile"
    hint      did you mean "count"?`,
  );
});

it('names the whole file, counts one problem as one, and stops after twenty', () => {
  const problem = { path: '', found: 'null', expected: 'a pipeline' };
  expect(formatProblems('p.json', [problem])).toBe(
    'p.json is not a valid pipeline (1 problem):\n\n  (the whole file)\n    found     null\n    expected  a pipeline',
  );
  const text = formatProblems(
    'p.json',
    Array.from({ length: 25 }, () => problem),
  );
  expect(text.match(/found/g)).toHaveLength(20);
  expect(text).toMatch(/\n\n {2}and 5 more$/);
});
