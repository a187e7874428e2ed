/**
 * Fixed seeds of the local world: real files, whose ages and losses the seed decides.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LocalWorld } from '../local-world/local-world.ts';

function newWorld(seed: number): LocalWorld {
  const root = mkdtempSync(join(tmpdir(), 'tidemark-local-world-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return new LocalWorld(seed, root);
}

const SEEDS = Array.from({ length: 8 }, (_, index) => index + 1);

describe('a data folder', () => {
  it.each(SEEDS)('keeps every promise under seed %i', async (seed) => {
    const world = newWorld(seed);
    const failure = await world.run();
    expect(failure === null ? '' : `${failure}\n${world.story.slice(-20).join('\n')}`).toBe('');
  });

  it('lives alike twice under the same seed', async () => {
    const [one, again] = [newWorld(3), newWorld(3)];
    await one.run();
    await again.run();
    expect(again.story).toEqual(one.story);
  });
});
