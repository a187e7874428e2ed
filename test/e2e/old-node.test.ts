import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const file = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

let folder: string;

/** A folder that holds only what must run on any Node: whatever else is loaded is not there and fails by that. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-old-node-'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  for (const path of ['cli/bin.js', 'scripts/require-node.js']) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    copyFileSync(file(path), join(folder, path));
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the command on an old Node', () => {
  it.each(['18.20.8', '20.20.2', '22.17.1'])(
    'refuses %s by name, before it loads anything',
    (version) => {
      const { status, stderr, stdout } = runAs(version, 'cli/bin.js', '--version');

      expect(stderr).toContain(`Tidemark needs Node 22.18 or newer; this is Node ${version}`);
      expect(stdout).toBe('');
      expect(status).toBe(1);
    },
  );

  it.each(['22.18.0', '24.0.0', '26.1.0'])('goes on with %s', (version) => {
    const { status, stderr } = runAs(version, 'cli/bin.js', '--version');

    expect(stderr).toContain('ERR_MODULE_NOT_FOUND');
    expect(stderr).toContain('dist/cli/tidemark.js');
    expect(status).toBe(1);
  });
});

describe('the guard of the npm scripts', () => {
  it('lets Node 24 and newer pass', () => {
    for (const version of ['24.0.0', '26.1.0']) {
      expect(runAs(version, 'scripts/require-node.js')).toMatchObject({ status: 0, stderr: '' });
    }
  });

  it('says that nothing is installed', () => {
    const { status, stderr } = runAs('20.20.2', 'scripts/require-node.js');

    expect(stderr).toContain('This needs Node 24, but runs on v20.20.2.');
    expect(stderr).toContain('npm ci');
    expect(status).toBe(1);
  });

  it('says that the install script of node did not run', () => {
    mkdirSync(join(folder, 'node_modules/node'), { recursive: true });
    const { status, stderr } = runAs('20.20.2', 'scripts/require-node.js');

    expect(stderr).toContain('npm rebuild node --ignore-scripts=false');
    expect(status).toBe(1);
  });

  it('says that Node 24 is there but not first in PATH', () => {
    mkdirSync(join(folder, 'node_modules/node/bin'), { recursive: true });
    writeFileSync(join(folder, 'node_modules/node/bin/node'), '');
    const { status, stderr } = runAs('20.20.2', 'scripts/require-node.js');

    expect(stderr).toContain('put node_modules/.bin first in PATH');
    expect(status).toBe(1);
  });
});

/** Runs a script that is told it runs on Node `version`. */
function runAs(version: string, script: string, ...args: string[]) {
  const preload = `for (const [name, value] of Object.entries({
    version: 'v${version}',
    versions: { ...process.versions, node: '${version}' },
  })) Object.defineProperty(process, name, { value });`;
  return spawnSync(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(preload)}`,
      join(folder, script),
      ...args,
    ],
    { encoding: 'utf8' },
  );
}
