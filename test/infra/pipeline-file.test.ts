import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parsePlan } from '../../core/definition/parse-plan.ts';
import { loadPipeline } from '../../infra/pipeline-file.ts';
import { newFolder, ORDERS } from './pipeline-app.ts';

function fileOf(name: string, text: string): string {
  const path = join(newFolder(), name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const json = JSON.stringify(ORDERS);
const parsed = parsePlan(ORDERS);
if (!parsed.ok) throw new Error('the fixture is not a pipeline');
const { plan } = parsed;

const BUILDER = `import { count, pipeline, sum, tumbling, view, type Duration } from 'tidemark';
const day: Duration = '1d';
export default pipeline({ name: 'orders', stream: 'shop-orders', views: {
  by_city: view({ groupBy: ['city'], aggregates: { orders: count() } }),
  by_day: view({ window: tumbling(day), aggregates: { total: sum('amount') } }) } });`;

describe('a pipeline is read at once', () => {
  it.each([
    ['orders.json', `\uFEFF${json}`],
    ['orders.ts', BUILDER],
    ['orders.mts', BUILDER],
    ['orders.mjs', `export default ${json}`],
    ['orders.js', `export default ${json}`],
    ['orders.cjs', `module.exports = ${json}`],
    ['orders.cts', `module.exports = ${json} as const`],
    ['compiled.cjs', `exports.__esModule = true; exports.default = ${json}`],
  ])('from %s', (name, text) => {
    const path = fileOf(name, text);

    expect(loadPipeline(path)).toEqual({ plan, folder: dirname(path) });
  });

  it('from TypeScript in a CommonJS package, with what it imports', () => {
    const path = fileOf(
      'orders.ts',
      "import views from './views.ts';\nexport default { ...views };",
    );
    writeFileSync(join(dirname(path), 'package.json'), '{"type":"commonjs"}');
    writeFileSync(
      join(dirname(path), 'views.ts'),
      `const all: object = ${json};\nexport default all;`,
    );

    expect(loadPipeline(path).plan).toEqual(plan);
  });

  it('from an object or a plan: the lock file is then where cdk runs', () => {
    expect(loadPipeline(ORDERS)).toEqual({ plan, folder: process.cwd() });
    expect(loadPipeline(plan)).toEqual({ plan, folder: process.cwd() });
  });

  it('and no hook stays behind', () => {
    const path = fileOf('orders.ts', BUILDER);
    loadPipeline(path);

    expect(() => createRequire(path)('tidemark')).toThrow("Cannot find module 'tidemark'");
  });
});

describe('a file that is no pipeline is named, with what to do', () => {
  it.each([
    ['orders.toml', '', ['is not a pipeline file: its name must end in .json, .ts']],
    ['orders.json', '{', ['is not JSON']],
    ['orders.json', '{"name":"a",\n"name":"b"}', ['"name" in line 2, and in line 1 already']],
    ['orders.ts', 'export const orders = 1;', ['has no default export (it exports orders)']],
    ['orders.mjs', '', ['has no default export', 'export default pipeline({ … })']],
    ['orders.mjs', 'export default Promise.resolve({})', ['is a promise', 'CDK does not wait']],
    ['orders.mjs', 'await 1; export default {}', ['awaits at its top level']],
    ['orders.ts', "throw new Error('no luck')", ['could not be loaded: no luck']],
    ['orders.ts', 'throw null', ['could not be loaded: null']],
    ['orders.ts', 'throw undefined', ['could not be loaded: undefined']],
    [
      'orders.mjs',
      "export default { get name() { throw new Error('no name') } }",
      ['cannot be read: no name'],
    ],
    ['orders.ts', 'export default (', ['could not be loaded']],
    [
      'orders.json',
      '{"name":"orders","views":{"a":{"aggregates":{"n":{"count":"*"}},"window":{"tumbling":"1x"}}}}',
      ['is not a valid pipeline (1 problem)', 'views.a.window.tumbling', 'expected'],
    ],
  ])('%s: %s', (name, text, pieces) => {
    const path = fileOf(name, text);

    for (const piece of [name, ...pieces]) {
      expect(() => loadPipeline(path)).toThrow(piece);
    }
  });

  it('that is not there', () => {
    expect(() => loadPipeline('nowhere/orders.json')).toThrow(
      /there is no pipeline file nowhere\/orders\.json \(looked for .*\); a path counts from the folder in which cdk runs/,
    );
  });

  it.each([undefined, null, 5])('that is %s', (pipeline) => {
    expect(() => loadPipeline(pipeline as never)).toThrow(
      `pipeline is ${pipeline}: expected the path of a pipeline file`,
    );
  });

  it('that is an object', () => {
    expect(() => loadPipeline({ ...ORDERS, views: {} })).toThrow(
      'the pipeline is not a valid pipeline',
    );
  });
});
