import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, expect, it } from 'vitest';

const BLOCKED_S = 30;
const folder = mkdtempSync(join(tmpdir(), 'tidemark-end-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function moduleUrl(name: string): string {
  return JSON.stringify(new URL(`../../../cli/${name}`, import.meta.url).href);
}

it('a process ends with its code at once beside a pipeline file that blocks its thread', async () => {
  const file = join(folder, 'blocks.ts');
  const pidFile = join(folder, 'pid');
  // The call ends with this test, not with the process.
  writeFileSync(
    file,
    `import { spawnSync } from 'node:child_process';\nspawnSync('sh', ['-c', 'echo $$ >${pidFile}; exec sleep ${BLOCKED_S}']);\n`,
  );
  const script = join(folder, 'load.mjs');
  writeFileSync(
    script,
    [
      `import { existsSync } from 'node:fs';`,
      `import { loadPipelineFile } from ${moduleUrl('pipeline-file.ts')};`,
      `import { endWith } from ${moduleUrl('process-end.ts')};`,
      'const stop = new AbortController();',
      `const timer = setInterval(() => existsSync(${JSON.stringify(pidFile)}) && stop.abort(), 20);`,
      `await loadPipelineFile(${JSON.stringify(file)}, { signal: stop.signal }).catch(({ name }) => console.log(name));`,
      'clearInterval(timer);',
      'await endWith(3);',
    ].join('\n'),
  );
  const startedMs = Date.now();
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'pipe'] });
  const code = new Promise((resolve) => child.on('exit', resolve));
  const said = Promise.all([text(child.stdout), text(child.stderr)]);

  expect(await code).toBe(3);
  expect(Date.now() - startedMs).toBeLessThan(BLOCKED_S * 1_000);
  const [stdout, stderr] = await said;
  expect(stdout).toBe('AbortError\n');
  expect(stderr).toMatch(/^warning: the pipeline file blocks its thread .*\n$/);
  process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL');
});
