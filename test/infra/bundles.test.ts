import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FUNCTION_NAMES, PLAN_FILE, VARIABLE } from '../../functions/deployment-contract.ts';
import { bundleFunction } from '../../scripts/bundle-functions.ts';

const BUNDLE_BYTES_MAX = 640 * 1024;
const PIPELINE = { name: 'visits', views: { all: { aggregates: { visits: { count: '*' } } } } };
const VARIABLES = {
  [VARIABLE.table]: 'table',
  [VARIABLE.bucket]: 'bucket',
  [VARIABLE.keyPrefix]: '',
  [VARIABLE.streamArn]: 'arn:aws:kinesis:eu-west-1:000000000000:stream/visits',
  [VARIABLE.start]: 'TRIM_HORIZON',
  [VARIABLE.retentionHours]: '168',
  [VARIABLE.service]: 'visits',
  [VARIABLE.aggregateFunction]: 'aggregate',
};

let folder: string;
const fileOf = (name: string) => join(folder, name, 'index.mjs');

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-bundles-'));
  for (const name of FUNCTION_NAMES) {
    mkdirSync(join(folder, name));
    bundleFunction(name, fileOf(name));
    writeFileSync(join(folder, name, PLAN_FILE), JSON.stringify(PIPELINE));
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The handler's type, or what its import threw, in a process that has nothing but these variables. */
function load(name: string, variables: Readonly<Record<string, string>>): string {
  const script = `
    const loading = import(${JSON.stringify(pathToFileURL(fileOf(name)).href)});
    const told = await loading.then(({ handler }) => typeof handler, ({ name, message, hint }) =>
      [name, message, hint].join(' | '));
    console.log(told);`;
  const environment = { PATH: process.env['PATH'], AWS_REGION: 'eu-west-1', ...variables };
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder,
    env: environment,
    encoding: 'utf8',
  });
  return `${run.stdout}${run.stderr}`.trim();
}

describe.each(FUNCTION_NAMES)('the bundle of %s', (name) => {
  it('is small enough for a quick cold start', () => {
    expect(statSync(fileOf(name)).size).toBeLessThanOrEqual(BUNDLE_BYTES_MAX);
  });

  it('gives a handler where nothing is installed', () => {
    expect(load(name, VARIABLES)).toBe('function');
  });

  it('says which variable it lacks', () => {
    const { [VARIABLE.streamArn]: _, ...others } = VARIABLES;
    expect(load(name, others)).toContain(
      `ConfigurationFault | the environment variable ${VARIABLE.streamArn} is not set | deploy`,
    );
  });
});

describe('a function whose settings are wrong', () => {
  it.each([
    [VARIABLE.streamArn, 'flights', 'the ARN of a Kinesis stream'],
    [VARIABLE.start, 'LATEST', 'TRIM_HORIZON or a time in ISO 8601'],
    [VARIABLE.retentionHours, '12', 'hours, from 24 to 8760'],
    [VARIABLE.retentionHours, 'a week', 'hours, from 24 to 8760'],
    [VARIABLE.start, '5', 'TRIM_HORIZON or a time in ISO 8601'],
  ])('refuses %s = %s', (variable, value, expected) => {
    const told = load('aggregate', { ...VARIABLES, [variable]: value });
    expect(told).toContain(`ConfigurationFault | ${variable} is '${value}', expected ${expected}`);
  });

  it('names what is wrong with a plan of another version', () => {
    const path = join(folder, 'aggregate', PLAN_FILE);
    writeFileSync(path, JSON.stringify({ ...PIPELINE, views: {} }));
    const told = load('aggregate', VARIABLES);
    writeFileSync(path, JSON.stringify(PIPELINE));
    expect(told).toContain('ConfigurationFault | plan.json');
    expect(told).toContain('views');
  });
});
