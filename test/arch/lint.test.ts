import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Rule by rule, a file that breaks it. The rest of the file must be in order: one diagnostic each. */
const PLANTED: readonly (readonly [rule: string, path: string, text: string])[] = [
  ['style/noRestrictedImports', 'core/a.ts', "import 'node:fs';"],
  ['style/noRestrictedImports', 'core/b.ts', "import '@aws-sdk/client-kinesis';"],
  ['style/noRestrictedImports', 'core/state/c.ts', "import '../../adapters/local/clock.ts';"],
  ['style/noRestrictedGlobals', 'core/d.ts', 'export const env = process.env;'],
  ['style/noRestrictedGlobals', 'core/e.ts', 'setTimeout(String, 1);'],
  ['style/noRestrictedGlobals', 'core/f.ts', 'export const id = crypto.randomUUID();'],
  ['nursery/noJsRestrictedProperties', 'core/g.ts', 'export const now = Date.now();'],
  ['nursery/noJsRestrictedProperties', 'core/h.ts', 'export const chance = Math.random();'],
  ['plugin', 'core/i.ts', 'export const now = new Date();'],
  [
    'nursery/noFloatingPromises',
    'adapters/j.ts',
    'async function write(): Promise<void> {}\nexport function forget(): void {\n  write();\n}',
  ],
  [
    'nursery/noMisusedPromises',
    'adapters/k.ts',
    "async function read(): Promise<boolean> {\n  return true;\n}\nexport const text = (): string => (read() ? 'yes' : 'no');",
  ],
  [
    'nursery/useExhaustiveSwitchCases',
    'adapters/l.ts',
    "export function f(x: 'a' | 'b'): number {\n  switch (x) {\n    case 'a':\n      return 1;\n  }\n  return 2;\n}",
  ],
  ['suspicious/noExplicitAny', 'adapters/m.ts', 'export const f = (x: any): unknown => x;'],
  ['suspicious/noConsole', 'adapters/n.ts', "console.info('x');"],
  ['correctness/useImportExtensions', 'adapters/o.ts', "import './m';"],
  [
    'complexity/noExcessiveLinesPerFunction',
    'adapters/p.ts',
    `export function long(): number {\n  let x = 0;\n${'  x += 1;\n'.repeat(70)}  return x;\n}`,
  ],
];

const RIGHT: readonly (readonly [path: string, text: string])[] = [
  ['core/right.ts', "import './a.ts';\n\nexport const day = new Date(86_400_000);"],
  ['adapters/right.ts', "import 'node:fs';\n\nexport const now = (): number => Date.now();"],
  ['cli/right.ts', "console.info('x');"],
  ['test/right.ts', `export function long(): void {\n${'  String(1);\n'.repeat(80)}}`],
];

let folder: string;
let found: string[];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-lint-'));
  cpSync(join(ROOT, 'biome.json'), join(folder, 'biome.json'));
  cpSync(join(ROOT, 'scripts/lint'), join(folder, 'scripts/lint'), { recursive: true });
  writeFileSync(join(folder, '.gitignore'), 'dist/\n');
  for (const [path, text] of [...PLANTED.map(([, ...file]) => file), ...RIGHT]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), `${text}\n`);
  }
  found = lint(folder);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('Biome, as biome.json sets it', () => {
  it.each(PLANTED)('reports %s in %s', (rule, path) => {
    expect(found.filter((diagnostic) => diagnostic.startsWith(`${path}: `))).toEqual([
      `${path}: ${rule}`,
    ]);
  });

  it.each(RIGHT)('has nothing to say of %s', (path) => {
    expect(found.filter((diagnostic) => diagnostic.startsWith(`${path}: `))).toEqual([]);
  });
});

/** What Biome reports below `cwd`, as "path: group/rule". */
function lint(cwd: string): string[] {
  const biome = join(ROOT, 'node_modules/.bin/biome');
  const args = ['lint', '--reporter=json', '--max-diagnostics=none', '--error-on-warnings', '.'];
  const { stdout, stderr } = spawnSync(biome, args, { cwd, encoding: 'utf8' });
  if (!stdout.startsWith('{')) throw new Error(`Biome gave no report:\n${stdout}${stderr}`);
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: { category: string; location: { path: string } }[];
  };
  return diagnostics.map(
    ({ category, location }) => `${location.path}: ${category.replace('lint/', '')}`,
  );
}
