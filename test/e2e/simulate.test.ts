import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { SimulationReport } from '../../testing/index.ts';
import { newFolder, run, tidemark } from './tidemark-process.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const guide = readFileSync(join(ROOT, 'docs/simulate.md'), 'utf8');
/** The blocks of the guide that are marked as `language`. */
const blocks = (language: string) =>
  [...guide.matchAll(/^```(\w*)\n(.*?)^```$/gms)]
    .filter(([, marked]) => marked === language)
    .map(([, , text]) => text as string);
const commands = blocks('sh').map((text) =>
  text
    .trim()
    .replace(/^npx tidemark /, '')
    .split(' '),
);
const folder = newFolder();

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const simulate = (args: readonly string[], input = '') => tidemark(args, { cwd: ROOT, input });

describe('tidemark simulate', () => {
  it('finds what the guide says of its first command, and nothing with the second', async () => {
    const [hasty, patient] = commands as [string[], string[]];
    const found = await simulate(hasty);
    expect(found).toMatchObject({ code: 1, stderr: '' });
    const [example = ''] = blocks('');
    expect(example).toContain('late-dropped');
    expect(found.stdout).toContain(example.trimEnd());
    // No delay is longer than its lateness, whatever the seed.
    const nothing = await simulate([...patient, '--seeds', '3']);
    expect(nothing).toMatchObject({ code: 0, stderr: '' });
    expect(nothing.stdout).toContain('Nothing was found');
  });

  it('replays the seed that it names', async () => {
    const args = [...(commands[0] as string[]), '--json'];
    const few = await simulate([...args, '--seeds', '3']);
    const all = JSON.parse(few.stdout) as SimulationReport;
    const seed = all.findings[0]?.seed;
    const one = JSON.parse(
      (await simulate([...args, '--seed', String(seed)])).stdout,
    ) as SimulationReport;
    expect(one.seeds).toEqual([seed]);
    expect(one.findings[0]).toMatchObject({ kind: 'late-dropped', seed, seedCount: 1 });
    expect(one.sizes).toEqual(all.sizes);
  });

  it('reads NDJSON from stdin, so many records of it, and says so', async () => {
    const pipeline = ['--pipeline', 'examples/late-orders/pipeline.json', '--faults', 'none'];
    const orders = readFileSync(join(ROOT, 'examples/late-orders/orders.ndjson'), 'utf8');
    const { code, stdout, stderr } = await simulate(
      ['simulate', ...pipeline, '--records', '-', '--limit', '100', '--seeds', '1'],
      orders,
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/^orders \(plan [0-9a-f]{8}\): 100 records, /);
    expect(stderr).toBe('only the first 100 records of - were read (--limit)\n');
  });

  it.each([
    [['--delay', 'p50=5h,p99=1s'], 'expected a duration such as 10m'],
    [['--delay', 'soon'], 'expected a duration such as 10m'],
    [['--retries', '2'], 'expected a share from 0 to 1'],
    [['--seeds', '0'], 'expected a whole number'],
  ])('refuses %j', async (wrong, message) => {
    const { code, stderr } = await simulate([...(commands[0] as string[]), ...wrong]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });
});

describe('tidemark/testing', () => {
  it('does what the guide shows', async () => {
    const [example = ''] = blocks('ts');
    const entry = JSON.stringify(join(ROOT, 'testing/index.ts'));
    const file = join(folder, 'example.mts');
    writeFileSync(file, example.replace("'tidemark/testing'", entry));
    const { code, stderr } = await run(process.execPath, ['--no-warnings', file], { cwd: ROOT });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});
