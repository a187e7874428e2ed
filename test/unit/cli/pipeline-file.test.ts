import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parsePlan } from '../../../core/definition/parse-plan.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);

const MODULE = `
import { count, pipeline, type PipelineJson, view } from 'tidemark';
import { name } from './name.ts';
const definition: PipelineJson = { name, views: { v: view({ aggregates: { n: count() } }) } };
export default pipeline(definition);
`;
const COMMON_JS = `
const { count, pipeline } = require('tidemark');
module.exports = pipeline({ name: require('./name.js'), views: { v: { aggregates: { n: count() } } } });
`;
const PLAIN_MODULE = `
import { count, pipeline } from 'tidemark';
export default pipeline({ name: 'plain', views: { v: { aggregates: { n: count() } } } });
`;
const FILES: Record<string, string> = {
  'bare/tidemark.config.ts': MODULE,
  'bare/name.ts': `export const name: string = 'bare';`,
  'bare/plain.js': PLAIN_MODULE,
  'bare/common.js': COMMON_JS,
  'bare/name.js': `module.exports = 'common';`,
  'bare/named.mts': MODULE,
  'commonjs/package.json': '{"type":"commonjs"}',
  'commonjs/tidemark.config.ts': MODULE,
  'commonjs/name.ts': `export const name: string = 'commonjs';`,
  'commonjs/plain.js': PLAIN_MODULE,
  'commonjs/plain.mjs': PLAIN_MODULE,
  'commonjs/common.cjs': COMMON_JS,
  'commonjs/common.cts': COMMON_JS.replace(
    'module.exports = pipeline',
    'const made: object = pipeline',
  ).concat('module.exports = made;'),
  'commonjs/name.js': `module.exports = 'common';`,
  'commonjs/compiled.js': `exports.__esModule = true; exports.default = { name: 'compiled', views: { v: { aggregates: { n: { count: '*' } } } } };`,
  'a folder #1/tidemark.config.ts': MODULE,
  'a folder #1/name.ts': `export const name: string = 'spaced';`,
  'other/node_modules/tidemark/package.json': '{"type":"module","exports":"./index.js"}',
  'other/node_modules/tidemark/index.js': `throw new Error('another version');`,
  'other/tidemark.config.js': PLAIN_MODULE,
  'pipeline.json': '\uFEFF{"name":"json","views":{"v":{"aggregates":{"n":{"count":"*"}}}}}',
  'broken.json': '{"name": ',
  'broken.ts': 'export default {\n  name: "a",,\n};\n',
  'broken.js': 'export default {\n  name: "a",,\n};\n',
  'enum.ts': 'enum Kind { A }\nexport default Kind;\n',
  'missing-import.ts': `import { x } from './nowhere.ts';\nexport default x;\n`,
  'missing-name.ts': `import { hopping } from 'tidemark';\nexport default hopping('1h');\n`,
  'throws.ts': `const limit: number = 1;\nthrow new RangeError(\`no \${limit}\`);\n`,
  'throws-text.js': `throw 'just text';\nexport {};`,
  'no-default.ts': 'export const pipeline = {};\nexport const other = 1;\n',
  'empty.ts': '',
  'function.ts': 'export default () => ({});\n',
  'promise.ts': PLAIN_MODULE.replace('default ', 'default Promise.resolve(1).then(() => ').replace(
    ');',
    '));',
  ),
  'rejected.ts': `export default Promise.reject(new Error('no answer'));\n`,
  'invalid.ts': `export default { name: 'flights', views: { v: { aggregates: { n: { cuont: '*' } } } } };\n`,
  'pipeline.yaml': 'name: flights\n',
};

/** What loading said, by file: the plan's name, or the message. */
type Outcomes = Record<string, { name?: string; message?: string; problems?: number }>;

let folder: string;
let outcomes: Outcomes;
let stderr: string;

/** Loads files in a Node of its own, as `tidemark` does: vitest has module hooks of its own. */
async function loadInNode(script: string): Promise<{ outcomes: Outcomes; stderr: string }> {
  const source = `
    import { writeFileSync } from 'node:fs';
    import { loadPipelineFile, PipelineFileError } from ${JSON.stringify(pathToFileURL(join(root, 'cli/pipeline-file.ts')).href)};
    const outcomes = {};
    async function load(file, as = file) {
      try {
        const plan = await loadPipelineFile(file);
        outcomes[as] = { name: plan.name };
      } catch (error) {
        if (!(error instanceof PipelineFileError)) throw error;
        outcomes[as] = { message: error.message, problems: error.problems.length };
      }
    }
    ${script}
    console.log(JSON.stringify(outcomes));
  `;
  const args = ['--input-type=module', '--eval', source];
  const result = await run(process.execPath, args, { cwd: folder });
  return { outcomes: JSON.parse(result.stdout) as Outcomes, stderr: result.stderr };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-files-'));
  for (const [name, text] of Object.entries(FILES)) {
    await mkdir(join(folder, dirname(name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const names = [...Object.keys(FILES), 'nowhere.ts', 'bare'];
  ({ outcomes, stderr } = await loadInNode(
    `for (const file of ${JSON.stringify(names)}) if (!file.includes('node_modules')) await load(file);`,
  ));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('a pipeline file', () => {
  it.each([
    ['bare/tidemark.config.ts', 'bare'],
    ['bare/plain.js', 'plain'],
    ['bare/common.js', 'common'],
    ['bare/named.mts', 'bare'],
    ['commonjs/tidemark.config.ts', 'commonjs'],
    ['commonjs/plain.js', 'plain'],
    ['commonjs/plain.mjs', 'plain'],
    ['commonjs/common.cjs', 'common'],
    ['commonjs/common.cts', 'common'],
    ['commonjs/compiled.js', 'compiled'],
    ['a folder #1/tidemark.config.ts', 'spaced'],
    ['other/tidemark.config.js', 'plain'],
    ['pipeline.json', 'json'],
    ['promise.ts', 'plain'],
  ])('%s loads', (file, name) => {
    expect(outcomes[file]).toEqual({ name });
  });

  it('loads without a word on standard error', () => {
    expect(stderr).toBe('');
  });

  it('is read again at each load, with what it imports', async () => {
    const script = `
      const ts = 'bare/tidemark.config.ts';
      await load(ts, 'ts 1');
      await load('bare/common.js', 'js 1');
      writeFileSync('bare/name.ts', "export const name: string = 'changed';");
      writeFileSync('bare/name.js', "module.exports = 'changed';");
      await load(ts, 'ts 2');
      await load('bare/common.js', 'js 2');
      writeFileSync(ts, 'export default 1,');
      await load(ts, 'ts 3');
      writeFileSync(ts, "export default { name: 'repaired', views: { v: { aggregates: { n: { count: '*' } } } } };");
      await load(ts, 'ts 4');
    `;
    const again = await loadInNode(script);
    expect(again.outcomes).toMatchObject({
      'ts 1': { name: 'bare' },
      'js 1': { name: 'common' },
      'ts 2': { name: 'changed' },
      'js 2': { name: 'changed' },
      'ts 3': { message: expect.stringContaining('could not be loaded') },
      'ts 4': { name: 'repaired' },
    });
  });

  it.each([
    ['link to the file, as of a ConfigMap', 'pipeline.ts', 'mount/pipeline.ts'],
    ['link to its folder, as of a deployment', 'pipeline.ts', 'mount/..data/pipeline.ts'],
    ['link to a file that it imports', 'importing.ts', 'mount/importing.ts'],
    ['link to a file that it requires', 'requiring.cjs', 'mount/requiring.cjs'],
  ])('is read anew, and watched, where a %s leads elsewhere', async (_, __, file) => {
    const script = `
      import { cpSync, mkdirSync, rmSync, symlinkSync, renameSync } from 'node:fs';
      import { filesOfPipeline } from ${JSON.stringify(pathToFileURL(join(root, 'cli/pipeline-file.ts')).href)};
      rmSync('mount', { recursive: true, force: true });
      const pipeline = (name) => "{ name: '" + name + "', views: { v: { aggregates: { n: { count: '*' } } } } }";
      for (const version of ['v1', 'v2']) {
        mkdirSync('mount/' + version, { recursive: true });
        writeFileSync('mount/' + version + '/pipeline.ts', 'export default ' + pipeline(version));
        writeFileSync('mount/' + version + '/part.ts', 'export const part = ' + pipeline(version));
        writeFileSync('mount/' + version + '/part.cjs', 'module.exports = ' + pipeline(version));
      }
      writeFileSync('mount/importing.ts', "import { part } from './part.ts'; export default part;");
      writeFileSync('mount/requiring.cjs', "module.exports = require('./part.cjs');");
      const lead = (version) => {
        symlinkSync(version, 'mount/..next');
        renameSync('mount/..next', 'mount/..data');
      };
      lead('v1');
      for (const name of ['pipeline.ts', 'part.ts', 'part.cjs']) symlinkSync('..data/' + name, 'mount/' + name);
      const file = ${JSON.stringify(file)};
      await load(file, 'before');
      outcomes.watched = filesOfPipeline(file).map((path) => path.slice(path.indexOf('mount/')));
      lead('v2');
      await load(file, 'after');
    `;
    const { outcomes: loaded } = await loadInNode(script);
    expect(loaded).toMatchObject({ before: { name: 'v1' }, after: { name: 'v2' } });
    const link = file.includes('ing.') ? file.replace(/\w+ing\./, 'part.') : file;
    expect(loaded['watched']).toContain(link);
  });
});

describe('a pipeline file that cannot be used', () => {
  it.each([
    ['nowhere.ts', /^there is no pipeline file nowhere\.ts \(looked for .*nowhere\.ts\)$/],
    ['bare', /^bare is not a file; --pipeline takes the path of a pipeline file$/],
    [
      'pipeline.yaml',
      /^pipeline\.yaml is not a pipeline file: its name must end in \.json, \.ts, /,
    ],
    ['broken.json', /^broken\.json is not JSON: /],
    [
      'broken.ts',
      /^broken\.ts could not be loaded:\n\n {2}.*broken\.ts:2\n(.*\n)* {4}name: "a",,\n(.*\n)* {2}SyntaxError: /,
    ],
    [
      'broken.js',
      /^broken\.js could not be loaded:\n\n {2}.*broken\.js:2\n(.*\n)* {4}name: "a",,\n(.*\n)* {2}SyntaxError: /,
    ],
    [
      'enum.ts',
      /^enum\.ts could not be loaded:\n(.*\n)* {2}SyntaxError: TypeScript enum is not supported/,
    ],
    [
      'missing-import.ts',
      /^missing-import\.ts could not be loaded:\n\n.*Cannot find module '.*nowhere\.ts'/,
    ],
    [
      'missing-name.ts',
      /^missing-name\.ts could not be loaded:\n(.*\n)*.*does not provide an export named 'hopping'/,
    ],
    [
      'throws.ts',
      /^throws\.ts could not be loaded:\n\n {2}RangeError: no 1\n {6}at .*throws\.ts:2:7\)?$/,
    ],
    ['throws-text.js', /^throws-text\.js could not be loaded:\n\n {2}it threw 'just text'$/],
    [
      'no-default.ts',
      /^no-default\.ts has no default export \(it exports other, pipeline\); expected .*export default pipeline/,
    ],
    ['empty.ts', /^empty\.ts is not a valid pipeline|^empty\.ts has no default export/],
    [
      'function.ts',
      /^function\.ts is not a valid pipeline \(1 problem\):\n\n.*\n {4}found {5}a function\n/,
    ],
    ['rejected.ts', /^rejected\.ts could not be loaded:\n\n {2}Error: no answer\n/],
    [
      'invalid.ts',
      /^invalid\.ts is not a valid pipeline \(1 problem\):\n\n {2}views\.v\.aggregates\.n\n(.*\n)* {4}hint {6}did you mean "count"\?$/,
    ],
  ])('%s is told by its name and what is wrong with it', (file, message) => {
    expect(outcomes[file]?.name).toBeUndefined();
    expect(outcomes[file]?.message).toMatch(message);
    expect(outcomes[file]?.message).not.toMatch(/tidemark-load|node:internal|pipeline-file\.ts/);
  });

  it('carries the problems of the pipeline', () => {
    expect(outcomes['invalid.ts']?.problems).toBe(1);
    expect(outcomes['nowhere.ts']?.problems).toBe(0);
  });
});

it('the example of flights is a valid pipeline', async () => {
  const { default: json } = (await import('../../../examples/flights/tidemark.config.ts')) as {
    default: unknown;
  };
  const parsed = parsePlan(json);
  expect(parsed).toMatchObject({
    ok: true,
    plan: { name: 'flights', stream: 'flights', skewMs: null },
  });
});
