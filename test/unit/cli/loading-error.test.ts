import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { loadingError } from '../../../cli/loading-error.ts';
import { syntaxErrorIn } from '../../../cli/module-hooks.ts';
import { temporaryFolder } from '../adapters-local/temporary-folder.ts';

const PROGRAM = '/srv/shop/node_modules/tidemark/dist/cli/';

function thrown(...frames: readonly string[]): Error {
  const error = new RangeError('no 1');
  error.stack = ['RangeError: no 1', ...frames.map((frame) => `    at ${frame}`)].join('\n');
  return error;
}

it('shows frames of the author, and none of a Tidemark that is installed in the same folder', () => {
  const error = thrown(
    'limit (file:///srv/shop/limits.ts:2:7)',
    '/srv/shop/tidemark.config.ts:4:1',
    `readSource (file://${PROGRAM}module-hooks.js:126:35)`,
    `stripTypes (${PROGRAM}module-hooks.js:134:16)`,
    'ModuleJob.run (node:internal/modules/esm/module_job:430:25)',
  );
  expect(loadingError(error, '/srv/shop/tidemark.config.ts', [PROGRAM])).toBe(
    [
      '  RangeError: no 1',
      '      at limit (file:///srv/shop/limits.ts:2:7)',
      '      at /srv/shop/tidemark.config.ts:4:1',
    ].join('\n'),
  );
});

it('knows its own folders: a file above them shows no frame of this program', async () => {
  const path = join(await temporaryFolder(), 'broken.ts');
  writeFileSync(path, 'export default {\n  name: "a",,\n};\n');
  const error = syntaxErrorIn(path) as SyntaxError;
  expect(error.stack).toMatch(/cli\/module-hooks\.ts/);
  const root = fileURLToPath(new URL('../../../tidemark.config.ts', import.meta.url));
  const text = loadingError(error, root);
  expect(text).toContain('name: "a",,');
  expect(text).not.toContain('module-hooks');
  expect(loadingError(error, root, [])).toContain('module-hooks');
});
