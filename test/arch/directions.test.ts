import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { cruise, type ICruiseResult, type IForbiddenRuleType } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FIXTURE = fileURLToPath(new URL('./fixture', import.meta.url));

const config = createRequire(import.meta.url)('../../.dependency-cruiser.cjs');
const rules: readonly IForbiddenRuleType[] = config.forbidden;

/** What the fixture breaks: rule, the file that breaks it, what it imports. */
const PLANTED: readonly (readonly [rule: string, from: string, to: string])[] = [
  ['core-is-closed', 'core/aggregate/reads-a-file.ts', 'fs'],
  ['core-is-closed', 'core/decode/needs-a-package.ts', 'hyparquet'],
  ['core-is-closed', 'core/query/knows-an-adapter.ts', 'adapters/memory/store.ts'],
  ['core-ground', 'core/limits.ts', 'core/state/slice-state.ts'],
  ['core-slice', 'core/slice/knows-state.ts', 'core/state/slice-state.ts'],
  ['core-time', 'core/time/knows-definition.ts', 'core/definition/parse-plan.ts'],
  ['core-aggregate', 'core/aggregate/knows-state.ts', 'core/state/slice-state.ts'],
  ['core-definition', 'core/definition/knows-state.ts', 'core/state/slice-state.ts'],
  ['core-decode', 'core/decode/knows-state.ts', 'core/state/slice-state.ts'],
  ['core-state', 'core/state/knows-checkpoint.ts', 'core/checkpoint/head.ts'],
  ['core-checkpoint', 'core/checkpoint/knows-query.ts', 'core/query/rows.ts'],
  ['core-task', 'core/task/knows-query.ts', 'core/query/rows.ts'],
  ['core-query', 'core/query/knows-task.ts', 'core/task/slice-task.ts'],
  ['adapters-direction', 'adapters/local/knows-functions.ts', 'functions/query/handler.ts'],
  ['functions-direction', 'functions/aggregate/knows-runtime.ts', 'runtime/server.ts'],
  ['runtime-direction', 'runtime/knows-cli.ts', 'cli/tidemark.ts'],
  ['simulation-direction', 'simulation/knows-testing.ts', 'testing/simulate.ts'],
  ['testing-direction', 'testing/knows-cli.ts', 'cli/tidemark.ts'],
  ['cli-direction', 'cli/knows-bench.ts', 'bench/fold.ts'],
  ['infra-direction', 'infra/knows-runtime.ts', 'core/faults.ts'],
  ['adapters-apart', 'adapters/local/knows-memory.ts', 'adapters/memory/store.ts'],
  ['functions-apart', 'functions/aggregate/knows-query.ts', 'functions/query/handler.ts'],
  ['nothing-imports-test', 'bench/knows-test.ts', 'test/world.ts'],
  ['product-needs-no-dev-dependency', 'runtime/needs-a-dev-dependency.ts', 'fast-check'],
  ['bundled-stays-in-bundles', 'runtime/knows-a-bundle.ts', 'adapters/aws/store.ts'],
  ['no-circular', 'runtime/circle-a.ts', 'runtime/circle-b.ts'],
  ['resolvable', 'runtime/leads-nowhere.ts', './nothing.ts'],
];

describe('the directions of imports', () => {
  it('hold in the whole tree', async () => {
    const result = await cruiseTree(ROOT, ['.']);

    expect(result.summary.totalCruised).toBeGreaterThan(10);
    expect(result.summary.totalDependenciesCruised ?? 0).toBeGreaterThan(10);
    const cruised = result.modules.map((module) => module.source);
    expect(cruised).toContain('core/ports.ts');
    expect(cruised).toContain('test/arch/directions.test.ts');
    expect(violationsOf(result)).toEqual([]);
  });

  it('are reported where the fixture breaks them, and nowhere else', async () => {
    const result = await cruiseTree(FIXTURE, ['.']);

    const expected = PLANTED.map(([rule, from, to]) => `${rule}: ${from} → ${to}`);
    expect(violationsOf(result)).toEqual(expected.sort());
  });

  it('have a planted case for every rule', () => {
    const planted = new Set(PLANTED.map(([rule]) => rule));
    expect(rules.map((rule) => rule.name).filter((name) => !planted.has(name ?? ''))).toEqual([]);
  });
});

it('what lies at the top of core/ is common ground, and named as such, but for aggregator.ts', () => {
  const top = readdirSync(`${ROOT}core`).filter((name) => name.endsWith('.ts'));
  const others = top.filter((name) => name !== 'aggregator.ts');
  const ground = new RegExp(String(rules.find(({ name }) => name === 'core-ground')?.from.path));
  expect(others.filter((name) => !ground.test(`core/${name}`))).toEqual([]);
  expect(ground.test('core/aggregator.ts')).toBe(false);
  const architecture = readFileSync(`${ROOT}docs/architecture.md`, 'utf8');
  const [, named = ''] = /^(.+?) {2,}the common ground$/m.exec(architecture) ?? [];
  expect(named.split(' ')).toEqual(others.map((name) => name.replace('.ts', '')).sort());
});

async function cruiseTree(baseDir: string, paths: string[]): Promise<ICruiseResult> {
  const { output } = await cruise(
    paths,
    { ...config.options, baseDir, validate: true, ruleSet: { forbidden: rules } },
    undefined,
    { tsConfig: extractTSConfig(`${ROOT}/tsconfig.json`) },
  );
  if (typeof output === 'string') throw new Error('dependency-cruiser gave text, not a result');
  return output;
}

function violationsOf(result: ICruiseResult): string[] {
  return result.summary.violations
    .map(
      ({ rule, from, to }) =>
        `${rule.name}: ${from} → ${to.replace(/.*node_modules\//, '').replace(/^(hyparquet|fast-check)\/.*/, '$1')}`,
    )
    .sort();
}
