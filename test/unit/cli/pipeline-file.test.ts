import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  areThreadsGone,
  type LoadOptions,
  loadPipelineFile,
  PipelineFileError,
} from '../../../cli/pipeline-file.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';

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
  'twice.json':
    '{"name":"twice","views":{\n"v":{"aggregates":{"n":{"count":"*"}}},\n"v":{"aggregates":{"m":{"count":"*"}}}}}',
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
const outcomes: Outcomes = {};

async function outcomeOf(file: string, options: LoadOptions = {}): Promise<Outcomes[string]> {
  try {
    return { name: (await loadPipelineFile(join(folder, file), options)).name };
  } catch (error) {
    if (!(error instanceof PipelineFileError)) throw error;
    const message = error.message.replaceAll(`${folder}/`, '');
    return { message, problems: error.problems.length };
  }
}

/** The files that a load reads, besides its own. */
async function readFor(file: string): Promise<{ name?: string; read: string[] }> {
  const read: string[] = [];
  const onRead = (path: string) => read.push(path);
  const outcome = await outcomeOf(file, { onRead });
  return { ...outcome, read: read.map((path) => path.replace(`${folder}/`, '')) };
}

function write(file: string, text: string): void {
  writeFileSync(join(folder, file), text);
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'tidemark-files-')));
  for (const [name, text] of Object.entries(FILES)) {
    await mkdir(join(folder, dirname(name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const names = [...Object.keys(FILES), 'nowhere.ts', 'bare'];
  for (const name of names) {
    if (!name.includes('node_modules')) outcomes[name] = await outcomeOf(name);
  }
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

  it('loads without a word on standard error', async () => {
    const module = JSON.stringify(new URL('../../../cli/pipeline-file.ts', import.meta.url).href);
    const script = join(folder, 'load.mjs');
    writeFileSync(
      script,
      `import { loadPipelineFile } from ${module};\nconsole.log((await loadPipelineFile('bare/tidemark.config.ts')).name);`,
    );
    const result = await promisify(execFile)(process.execPath, [script], { cwd: folder });
    expect(result).toEqual({ stdout: 'bare\n', stderr: '' });
  });

  it('is read again at each load, with what it imports', async () => {
    const ts = 'changing/tidemark.config.ts';
    const js = 'changing/common.js';
    mkdirSync(join(folder, 'changing'));
    write(ts, MODULE);
    write(js, COMMON_JS);
    write('changing/name.ts', `export const name: string = 'first';`);
    write('changing/name.js', `module.exports = 'first';`);
    expect(await readFor(ts)).toMatchObject({ name: 'first', read: [ts, 'changing/name.ts'] });
    expect(await readFor(js)).toMatchObject({ name: 'first', read: [js, 'changing/name.js'] });
    write('changing/name.ts', `export const name: string = 'changed';`);
    write('changing/name.js', `module.exports = 'changed';`);
    expect(await outcomeOf(ts)).toEqual({ name: 'changed' });
    expect(await outcomeOf(js)).toEqual({ name: 'changed' });
    write(ts, 'export default 1,');
    expect((await outcomeOf(ts))?.message).toContain('could not be loaded');
    write(ts, SOUND);
    expect(await outcomeOf(ts)).toEqual({ name: 'sound' });
  });

  it.each([
    ['link to the file, as of a ConfigMap', 'mount/pipeline.ts'],
    ['link to its folder, as of a deployment', 'mount/..data/pipeline.ts'],
    ['link to a file that it imports', 'mount/importing.ts'],
    ['link to a file that it requires', 'mount/requiring.cjs'],
  ])('is read anew, and watched, where a %s leads elsewhere', async (_, file) => {
    rmSync(join(folder, 'mount'), { recursive: true, force: true });
    const pipeline = (name: string) =>
      `{ name: '${name}', views: { v: { aggregates: { n: { count: '*' } } } } }`;
    for (const version of ['v1', 'v2']) {
      mkdirSync(join(folder, 'mount', version), { recursive: true });
      write(`mount/${version}/pipeline.ts`, `export default ${pipeline(version)}`);
      write(`mount/${version}/part.ts`, `export const part = ${pipeline(version)}`);
      write(`mount/${version}/part.cjs`, `module.exports = ${pipeline(version)}`);
    }
    write('mount/importing.ts', "import { part } from './part.ts'; export default part;");
    write('mount/requiring.cjs', "module.exports = require('./part.cjs');");
    const lead = (version: string) => {
      symlinkSync(version, join(folder, 'mount/..next'));
      renameSync(join(folder, 'mount/..next'), join(folder, 'mount/..data'));
    };
    lead('v1');
    for (const name of ['pipeline.ts', 'part.ts', 'part.cjs']) {
      symlinkSync(`..data/${name}`, join(folder, 'mount', name));
    }
    const { name, read } = await readFor(file);
    expect(name).toBe('v1');
    // The file itself is watched by the path that was given.
    if (file.includes('ing.')) expect(read).toContain(file.replace(/\w+ing\./, 'part.'));
    lead('v2');
    expect(await outcomeOf(file)).toEqual({ name: 'v2' });
  });
});

/** The pipeline that most of these would be but for what else they do. */
const SOUND = `export default { name: 'sound', views: { v: { aggregates: { n: { count: '*' } } } } };\n`;

describe('what a pipeline file does while it is loaded, and later', () => {
  const TIMEOUT_MS = 300;

  it.each([
    ['ends the process', 'process.exit(0);', /^odd\.ts ended the process, or never finished, /],
    ['waits for nothing', 'await new Promise(() => {});', /^odd\.ts ended the process, or never /],
    [
      'rejects a promise that is awaited nowhere',
      `void Promise.reject(new Error('late'));`,
      /^odd\.ts could not be loaded:\n\n {2}Error: late\n {6}at .*odd\.ts:1:\d+/,
    ],
    [
      'throws while it is awaited',
      `setTimeout(() => { throw new Error('timer'); }, 10);\nawait new Promise(() => {});`,
      /^odd\.ts could not be loaded:\n\n {2}Error: timer\n/,
    ],
  ])('is told where it %s', async (_, text, message) => {
    write('odd.ts', `${text}\n${SOUND}`);
    expect((await outcomeOf('odd.ts'))?.message).toMatch(message);
  });

  it.each([
    ['waits for what does not come', 'await new Promise((r) => setTimeout(r, 60_000));'],
    ['loops without an end', 'for (;;);'],
  ])('is stopped where it %s', async (_, text) => {
    write('odd.ts', `${text}\n${SOUND}`);
    expect((await outcomeOf('odd.ts', { timeoutMs: TIMEOUT_MS }))?.message).toMatch(
      /^odd\.ts was not loaded within 0\.3 s, and was stopped: look for a loop without an end, or a request/,
    );
  });

  it.each([
    ['null', 'parentPort.postMessage(null);'],
    ['text', `parentPort.postMessage('text');`],
    ['an unknown kind', `parentPort.postMessage({ kind: 'ready' });`],
    ['a pipeline', `parentPort.postMessage({ kind: 'pipeline', pipeline: {} });`],
    ['a failure', `parentPort.postMessage({ kind: 'failed', message: 'posted' });`],
    ['nothing more', 'parentPort.close();'],
    ['what it likes on the own port', 'workerData.port?.postMessage(null);'],
    [
      'other things than it is asked to',
      'MessagePort.prototype.postMessage = function () { throw 1; };',
    ],
  ])('is no matter where it posts %s', async (_, text) => {
    write(
      'odd.ts',
      `import { parentPort, workerData } from 'node:worker_threads';\n${text}\nawait new Promise((r) => setTimeout(r, 50));\n${SOUND}`,
    );
    expect(await outcomeOf('odd.ts')).toEqual({ name: 'sound' });
  });

  it.each([
    ['what Tidemark makes', 'Object.fromEntries = () => ({});'],
    ['how problems are listed', 'Array.prototype.push = function () { this[0] = null; };'],
  ])('is no matter to others where it changes %s', async (change, text) => {
    const pipeline = change.includes('problems') ? 'export default {};' : SOUND;
    write('odd.ts', `${text}\n${pipeline}`);
    expect((await outcomeOf('odd.ts'))?.message).toMatch(
      /^odd\.ts cannot be used: its pipeline did not arrive whole; look for code that changes/,
    );
  });

  it('is told where it throws what has no text, past the handlers of its thread', async () => {
    write(
      'odd.ts',
      `process.removeAllListeners('uncaughtException');\nsetTimeout(() => { throw Object.create(null); }, 0);\nawait new Promise(() => {});\n${SOUND}`,
    );
    expect((await outcomeOf('odd.ts'))?.message).toMatch(
      /^odd\.ts (could not be loaded|cannot be)/,
    );
  });

  it.each([
    ['an array that grows', 'const days = []; for (let d = 0; ; d++) days.push(d);'],
    ['an object that grows', `const s = {}; for (let d = 0; ; d++) s['k' + d] = d;`],
    ['many arrays', 'const a = []; for (;;) a.push(new Array(1e5).fill(a.length));'],
    ['buffers', 'const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1));'],
  ])('is stopped where its memory fills with %s', async (_, text) => {
    write('odd.ts', `${text}\n${SOUND}`);
    expect((await outcomeOf('odd.ts', { memoryMibMax: 48 }))?.message).toMatch(
      /^odd\.ts needs more than 48 MiB of memory to load, and was stopped: look for a loop/,
    );
  });

  it('ends with the load', async () => {
    write(
      'odd.ts',
      `import { writeFileSync } from 'node:fs';\nsetTimeout(() => writeFileSync('${join(folder, 'later')}', ''), 50);\n${SOUND}`,
    );
    expect(await outcomeOf('odd.ts')).toEqual({ name: 'sound' });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(existsSync(join(folder, 'later'))).toBe(false);
  });

  it('is known to block its thread, which no exit gets past', async () => {
    expect(await areThreadsGone(5_000)).toBe(true);
    const begun = join(folder, 'begun');
    write(
      'odd.ts',
      `import { spawnSync } from 'node:child_process';\nspawnSync('sh', ['-c', 'touch "$0"; exec sleep 2', ${JSON.stringify(begun)}]);\n${SOUND}`,
    );
    const stop = new AbortController();
    // Before the call blocks, the thread could still be ended.
    const timer = setInterval(() => existsSync(begun) && stop.abort(new Error('overtaken')), 20);
    const loaded = outcomeOf('odd.ts', { signal: stop.signal });
    await expect(loaded).rejects.toThrow('overtaken');
    clearInterval(timer);
    expect(await areThreadsGone(50)).toBe(false);
    expect(await areThreadsGone(10_000)).toBe(true);
  });

  it('is stopped by the signal of who asked, and what it has read is known', async () => {
    write('part.ts', 'export const part = 1;\nawait new Promise((r) => setTimeout(r, 60_000));\n');
    write('odd.ts', `import './part.ts';\n${SOUND}`);
    const stop = new AbortController();
    const read: string[] = [];
    const onRead = (path: string) => {
      read.push(path);
      if (path.endsWith('part.ts')) stop.abort(new Error('overtaken'));
    };
    await expect(outcomeOf('odd.ts', { signal: stop.signal, onRead })).rejects.toThrow('overtaken');
    expect(read).toEqual([join(folder, 'odd.ts'), join(folder, 'part.ts')]);
  });
});

describe('a pipeline file that cannot be used', () => {
  it('tells where it looked for what it imports, and did not find it', async () => {
    expect((await readFor('missing-import.ts')).read).toEqual(['missing-import.ts', 'nowhere.ts']);
    write('missing-require.cjs', `require('./gone/part');`);
    expect((await readFor('missing-require.cjs')).read).toEqual([
      'missing-require.cjs',
      'gone/part',
      'gone/part.js',
      'gone/part.json',
      'gone/part/index.js',
    ]);
  });

  it.each([
    ['nowhere.ts', /^there is no pipeline file nowhere\.ts \(looked for .*nowhere\.ts\)$/],
    ['bare', /^bare is not a file; --pipeline takes the path of a pipeline file$/],
    [
      'pipeline.yaml',
      /^pipeline\.yaml is not a pipeline file: its name must end in \.json, \.ts, /,
    ],
    ['broken.json', /^broken\.json is not JSON: /],
    ['twice.json', /^twice\.json is not a valid pipeline .*"v" in line 3, and in line 2 already/s],
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
    expect(outcomes[file]?.message).not.toMatch(
      /node:internal|pipeline-(file|evaluation)\.ts|module-hooks/,
    );
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
