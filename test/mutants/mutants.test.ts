/**
 * Each mutant must be found by the simulation, within so many seeds. Processes of their own: sources are patched as they are
 * loaded.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { MUTANTS } from './mutants.ts';

const SEEDS_MAX = 100;
const run = promisify(execFile);
const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** The first seed that fails, and as what; null if none does. */
async function seedThatFinds(name: string): Promise<{ seed: number | null; kind?: string }> {
  const args = ['--import', pathOf('./mutant-loader.ts'), pathOf('./mutant-run.ts')];
  const env = { ...process.env, TIDEMARK_MUTANT: name };
  const { stdout } = await run(process.execPath, [...args, String(SEEDS_MAX)], { env });
  return JSON.parse(stdout);
}

describe('the simulation finds that', () => {
  it.concurrent.each(MUTANTS.map(({ name }) => name))('%s', async (name) => {
    const { seed, kind } = await seedThatFinds(name);
    expect(seed, `no seed up to ${SEEDS_MAX}`).not.toBeNull();
    process.stdout.write(`| ${name} | ${seed} | ${kind} |\n`);
  });
});

it('finds nothing in the sources as they are', async () => {
  expect(await seedThatFinds('nothing is changed')).toEqual({ seed: null });
});
