import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SOAK = fileURLToPath(new URL('../../scripts/soak.ts', import.meta.url));

describe('npm run soak', () => {
  it('kills tidemark dev for some seconds and finds nothing lost or doubled', () => {
    const args = [SOAK, '--seconds', '3', '--environments', '2', '--seed', '3'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });

    expect(stderr).toBe('');
    expect(stdout).toContain('soak: 3 s, 4 shards, 2 environments, seed 3');
    expect(stdout).toMatch(/^ended [1-9]\d* times/m);
    expect(stdout).toMatch(/^nothing lost, nothing doubled$/m);
    expect(status).toBe(0);
  });

  it('refuses what is no number', () => {
    const { status, stderr } = spawnSync(process.execPath, [SOAK, '--seconds', 'long'], {
      encoding: 'utf8',
    });

    expect(stderr).toBe('--seconds takes a whole number from 1, not long\n');
    expect(status).toBe(2);
  });
});
