/**
 * That each mutant still has its text in the sources: whoever changes those sees it here, not when mutants run.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { MUTANTS } from '../mutants/mutants.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
  'the text that is changed is there exactly once: %s',
  (_, { edits }) => {
    for (const { file, find } of edits) {
      const text = readFileSync(`${ROOT}${file}`, 'utf8');
      expect(`${file}: ${text.split(find).length - 1} times`).toBe(`${file}: 1 times`);
    }
  },
);

it('each mutant has a name of its own, and says as what it is found', () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  expect(MUTANTS.length).toBeGreaterThanOrEqual(50);
  for (const { foundAs } of MUTANTS) expect(foundAs.length).toBeGreaterThan(0);
});
