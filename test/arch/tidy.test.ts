import { accessSync, constants } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { TIDY_RULES } from './tidy.ts';
import { readTree, type TreeFile } from './tree.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const lines = (count: number): string => 'const x = 1;\n'.repeat(count);

/** For each rule: what breaks it, as path and text, with a piece of what it must say; and what must pass. */
const PLANTED: Record<string, { breaks: [string, string, string][]; passes: [string, string][] }> =
  {
    'file-length': {
      breaks: [
        ['core/state/fold.ts', lines(401), '401 lines, at most 400'],
        ['functions/aggregate/handler.ts', lines(41), '41 lines, at most 40'],
      ],
      passes: [
        ['core/state/fold.ts', lines(400)],
        ['test/unit/long.test.ts', lines(401)],
      ],
    },
    'file-names': {
      breaks: [
        ['core/state/utils.ts', '', '"utils" says nothing'],
        ['core/helpers/fold.ts', '', '"helpers" says nothing'],
        ['test/helpers/world.ts', '', '"helpers" says nothing'],
        ['adapters/local/index.ts', '', '"index" says nothing'],
        ['adapters/local/base.ts', '', '"base" says nothing'],
        ['core/state/SliceState.ts', '', 'not in kebab-case'],
      ],
      passes: [
        ['core/definition/index.ts', ''],
        ['core/state/slice-state.ts', ''],
        ['.dependency-cruiser.cjs', ''],
        ['core/checkpoint/base.ts', ''],
        ['console/index.html', ''],
      ],
    },
    'type-names': {
      breaks: [
        ['core/ports.ts', 'export interface IStore {}', 'IStore'],
        ['adapters/local/store.ts', 'export class StoreImpl {}', 'StoreImpl'],
      ],
      passes: [['core/ports.ts', 'export interface Item {}\nexport type Interval = number;']],
    },
    barrels: {
      breaks: [['core/state/all.ts', "export * from './fold.ts';", 'no barrels']],
      passes: [['core/definition/index.ts', "export * from './builder.ts';"]],
    },
    'banned-words': {
      breaks: [
        ['core/state/fold.ts', `// ${'TO' + 'DO'}: later`, 'do it'],
        ['README.md', `${'FIX' + 'ME'}`, 'do it'],
        ['CHANGELOG.md', '- comes with issue 7', 'cannot open an issue number'],
      ],
      passes: [['README.md', 'What to do with an issue.']],
    },
    'machine-paths': {
      breaks: [['README.md', 'cd "/home/me/tidemark"', "someone's machine"]],
      passes: [['README.md', 'see docs/home/page.md and https://example.org/home/x']],
    },
    'core-is-pure': {
      breaks: [
        ['core/a.ts', 'export const now = Date.now();', 'Date.now is not pure'],
        ['core/a.ts', 'export const now = new Date();', 'without exactly one argument'],
        ['core/a.ts', 'export const day = new Date(2026, 1, 1);', 'without exactly one argument'],
        ['core/a.ts', 'export const now = Date();', 'reads the clock'],
        ['core/a.ts', 'export const x = Math.random();', 'Math.random is not pure'],
        ['core/a.ts', '\nsetTimeout(() => {}, 1);', 'line 2: setTimeout is not pure'],
        ['core/a.ts', 'export const x = process.env.X;', 'process is not pure'],
        ['core/a.ts', 'export const x = globalThis.crypto;', 'globalThis is not pure'],
        ['core/a.ts', 'export const x = crypto.randomUUID();', 'crypto is not pure'],
        ['core/a.ts', 'export const h = (d: Date) => d.getHours();', 'getHours depends on'],
        ['core/a.ts', "export const c = 'a'.localeCompare('b');", 'localeCompare depends on'],
        [
          'core/state/a.ts',
          'export const f = new Intl.DateTimeFormat();',
          'Intl is for core/time only',
        ],
      ],
      passes: [
        [
          'core/time/zone.ts',
          "export const f = new Intl.DateTimeFormat('en', { timeZone: 'UTC' });",
        ],
        [
          'core/a.ts',
          '// Date.now() and process.env are not for core/\nexport const d = new Date(5);',
        ],
        ['core/a.ts', "export const o = { process: 1, text: 'Math.random()' }.process;"],
        ['core/a.ts', 'export const h = (d: Date) => d.getUTCHours() + d.getTime();'],
        ['adapters/local/clock.ts', 'export const now = Date.now();'],
      ],
    },
    environment: {
      breaks: [['functions/aggregate/handler.ts', 'const x = process.env.X;', 'only compose.ts']],
      passes: [['functions/aggregate/compose.ts', 'const x = process.env.X;']],
    },
    'worker-entries': {
      breaks: [
        [
          'runtime/a.ts',
          "new Worker(new URL('./environment.ts', import.meta.url))",
          'not there in a package',
        ],
      ],
      passes: [['runtime/a.ts', 'new URL(fileName, import.meta.url)']],
    },
    'module-mocks': {
      breaks: [['test/unit/a.test.ts', "vi.mock('node:fs');", 'other test files share']],
      passes: [
        ['test/unit/a.test.ts', "vi.spyOn(fs, 'copyFile');"],
        ['test/e2e/a.test.ts', "vi.mock('node:fs');"],
      ],
    },
    adrs: {
      breaks: [
        ['docs/adr/0009-tea.md', '## Context', 'not listed in docs/adr/README.md'],
        ['docs/adr/0009-tea.md', '## Context', 'lacks "## Rejected alternatives"'],
      ],
      passes: [
        ['docs/adr/README.md', '- [0009](0009-tea.md)'],
        [
          'docs/adr/0009-tea.md',
          '## Context\n## Decision\n## Rejected alternatives\n## Cost\n## Testing\n## Status',
        ],
      ],
    },
    changelog: {
      breaks: [
        [
          'CHANGELOG.md',
          '## Unreleased\n### Features\n### Internals',
          'lacks "### Safety and Performance"',
        ],
      ],
      passes: [
        ['CHANGELOG.md', '## Unreleased\n### Safety and Performance\n### Features\n### Internals'],
      ],
    },
    'npm-scripts': {
      breaks: [
        ['README.md', 'npm run nothing', '"nothing" is not in package.json'],
        ['.ci/run', 'npm run check:all', '"check:all" is not in package.json'],
      ],
      passes: [['README.md', 'npm ci && npm test && npm run check && npm run check -- --help']],
    },
    links: {
      breaks: [
        ['docs/a.md', 'see [b](b.md#part)', 'the link b.md leads nowhere'],
        ['README.md', '![page](docs/page.png)', 'the link docs/page.png leads nowhere'],
      ],
      passes: [
        [
          'docs/a.md',
          '[b](b.md#x) [up](../README.md) [here](#x) [folder](adr) [web](https://a.b/c)',
        ],
        ['docs/b.md', ''],
        ['docs/adr/README.md', ''],
        ['README.md', ''],
      ],
    },
    'exact-versions': {
      breaks: [
        ['package.json', '{"dependencies": {"commander": "^14.0.3"}}', 'commander "^14.0.3"'],
        ['package.json', '{"devDependencies": {"knip": "latest"}}', 'knip "latest"'],
      ],
      passes: [['package.json', '{"dependencies": {"commander": "14.0.3"}}']],
    },
    'lock-file': {
      breaks: [
        ['package-lock.json', '{"resolved": "https://registry.example/a.tgz"}', 'names a registry'],
      ],
      passes: [['package-lock.json', '{"version": "1.0.0"}']],
    },
    'package-json-is-ours': {
      breaks: [['package.json', '{"engines": {"node": ">=22.18"}}', 'interrupted `npm pack`']],
      passes: [['package.json', '{"scripts": {}}']],
    },
  };

/** A tree of these files, with a package.json if they bring none. */
function treeOf(files: readonly TreeFile[]): TreeFile[] {
  const packageJson = { path: 'package.json', text: '{"scripts": {"test": "x", "check": "y"}}' };
  return files.some(({ path }) => path === packageJson.path) ? [...files] : [packageJson, ...files];
}

describe.each(TIDY_RULES)('the rule $name', ({ name, problems }) => {
  const planted = PLANTED[name];

  it('holds in the whole tree', () => {
    const tree = readTree(ROOT);
    expect(tree.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['core/ports.ts', 'package.json', 'test/arch/tidy.ts', '.ci/run']),
    );
    expect(problems(tree)).toEqual([]);
  });

  it.each(planted?.breaks ?? [])('finds what is wrong with %s: %s', (path, text, said) => {
    const found = problems(treeOf([{ path, text }]));
    expect(found.join('\n')).toContain(said);
    expect(found.join('\n')).toContain(path);
  });

  it('lets pass what is right, and has planted cases', () => {
    expect(planted?.breaks.length).toBeGreaterThan(0);
    const right = planted?.passes ?? [];
    const byPath = new Set(right.map(([path]) => path)).size === right.length;
    const trees = byPath ? [right] : right.map((file) => [file]);
    for (const files of trees) {
      expect(problems(treeOf(files.map(([path, text]) => ({ path, text }))))).toEqual([]);
    }
  });
});

describe('files that are run by name', () => {
  it.each(['cli/bin.js', '.ci/run'])('%s is executable', (path) => {
    expect(() => accessSync(`${ROOT}/${path}`, constants.X_OK)).not.toThrow();
  });
});
