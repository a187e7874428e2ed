/**
 * What npm would publish: packed from a copy of the tree, installed into an empty folder elsewhere, and run there.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NOT_COPIED = /^(node_modules|dist|coverage|cdk\.out|\.git|\.tidemark|\.tmp|\.venv-.*)$/;

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
const ours = readJson(join(ROOT, 'package.json'));

let folder: string;
let source: string;
let elsewhere: string;
let packed: { filename: string; size: number; files: { path: string; mode: number }[] };

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-package-'));
  source = join(folder, 'source');
  elsewhere = join(folder, 'elsewhere');
  copyTree(source);
  mkdirSync(elsewhere);

  const report = npm(source, 'pack', '--json', '--pack-destination', folder);
  packed = JSON.parse(report.slice(report.indexOf('[')))[0];
  npm(elsewhere, 'install', '--prefer-offline', join(folder, packed.filename));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('npm pack', () => {
  it('leaves package.json as it was', () => {
    expect(readJson(join(source, 'package.json'))).toEqual(ours);
    expect(existsSync(join(source, '.package.json.kept'))).toBe(false);
  });

  it('puts package.json right after a pack that was interrupted', () => {
    const pack = (step: string): Buffer =>
      execFileSync(process.execPath, ['scripts/pack.ts', step], { cwd: source });

    pack('prepare');
    expect(readJson(join(source, 'package.json'))).not.toEqual(ours);
    pack('prepare');
    pack('restore');
    pack('restore');
    expect(readJson(join(source, 'package.json'))).toEqual(ours);
  });

  it('packs JavaScript, declarations and documents, and nothing of the workshop', () => {
    const paths = packed.files.map(({ path }) => path);

    expect(paths).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'cli/bin.js', 'dist/cli/tidemark.js']),
    );
    expect(paths.filter((path) => /\.ts$/.test(path) && !/\.d\.ts$/.test(path))).toEqual([]);
    expect(paths.filter((path) => /(^|\/)(test|bench|scripts|examples)\//.test(path))).toEqual([]);
    expect(packed.size).toBeLessThan(2_000_000);
  });
});

describe('the package, installed into an empty folder', () => {
  it('has the package.json of a user: engines, and nothing for developers', () => {
    const published = readJson(installed('package.json'));

    expect(published.engines).toEqual({ node: '>=22.18' });
    expect(published.version).toBe(ours.version);
    expect(published.dependencies).toEqual(ours.dependencies);
    expect(published).not.toHaveProperty('devDependencies');
    expect(published).not.toHaveProperty('scripts');
    expect(published).not.toHaveProperty('allowScripts');
  });

  it('runs as npx tidemark', () => {
    const { status, stdout, stderr } = tidemark('--version');

    expect(stderr).toBe('');
    expect(stdout).toBe(`${ours.version}\n`);
    expect(status).toBe(0);
  });

  it('checks a pipeline there, whose types hold in a strict TypeScript project', () => {
    const example = join(ROOT, 'examples/flights/tidemark.config.ts');
    copyFileSync(example, join(elsewhere, 'tidemark.config.ts'));
    const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
    const types = spawnSync(
      process.execPath,
      [tsc, '--noEmit', '--strict', '--module', 'nodenext', 'tidemark.config.ts'],
      { cwd: elsewhere, encoding: 'utf8' },
    );
    const check = tidemark('check', '--pipeline', 'tidemark.config.ts');

    expect(types.stdout).toBe('');
    expect(check).toMatchObject({ status: 0, stderr: '' });
    expect(check.stdout).toContain('flights');
  });

  it('says of a file with a syntax error where it is, and shows nothing of its own code', () => {
    writeFileSync(join(elsewhere, 'broken.ts'), 'export default {\n  name: "a",,\n};\n');
    const { status, stderr } = tidemark('check', '--pipeline', 'broken.ts');

    expect(status).toBe(1);
    expect(stderr).toContain('broken.ts:2\n');
    expect(stderr).toContain('SyntaxError: ');
    expect(stderr).not.toMatch(/^ +at /m);
  });
});

describe('the package, for tests of pipelines', () => {
  it('finds the planted mistake of the example, by command', () => {
    for (const file of ['pipeline.json', 'orders.ndjson']) {
      copyFileSync(join(ROOT, 'examples/late-orders', file), join(elsewhere, file));
    }
    const files = ['--pipeline', 'pipeline.json', '--records', 'orders.ndjson'];
    const delays = ['--delay', 'p50=5s,p99=4m,max=10m', '--seeds', '2', '--faults', 'none'];
    const simulate = tidemark('simulate', ...files, ...delays);

    expect(simulate).toMatchObject({ status: 1, stderr: '' });
    expect(simulate.stdout).toContain('late-dropped in revenue_by_shop');
  });

  it('runs a pipeline on records, by import', () => {
    writeFileSync(
      join(elsewhere, 'rows.mjs'),
      `import { count, pipeline, view } from 'tidemark';
       import { runPipeline } from 'tidemark/testing';
       const visits = pipeline({ name: 'visits', views: { all: view({ aggregates: { n: count() } }) } });
       const { views } = await runPipeline(visits, [{ page: '/' }, { page: '/a' }]);
       console.log(JSON.stringify(views.all));`,
    );
    const { stdout, stderr } = spawnSync(process.execPath, ['rows.mjs'], {
      cwd: elsewhere,
      encoding: 'utf8',
    });

    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject([{ values: { n: 2 } }]);
  });
});

describe('the package, in a CDK app that has nothing else', () => {
  it('synthesises a pipeline from its own bundles', () => {
    for (const name of ['aws-cdk-lib', 'constructs']) {
      symlinkSync(join(ROOT, 'node_modules', name), join(elsewhere, 'node_modules', name), 'dir');
    }
    writeFileSync(
      join(elsewhere, 'app.mjs'),
      `import { App, Stack } from 'aws-cdk-lib';
       import { TidemarkPipeline } from 'tidemark/cdk';
       const app = new App({ outdir: 'cdk.out', builtinCloudFormationValidation: false });
       new TidemarkPipeline(new Stack(app, 'Flights'), 'Flights', { pipeline: './tidemark.config.ts' });
       app.synth();`,
    );
    // On a server synth wants a lock file that is committed; here is a person's first try.
    const env = { ...process.env, CI: '' };
    const synth = spawnSync(process.execPath, ['app.mjs'], {
      cwd: elsewhere,
      encoding: 'utf8',
      env,
    });

    expect(synth).toMatchObject({ status: 0, stderr: '' });
    const { Resources } = readJson(join(elsewhere, 'cdk.out/Flights.template.json'));
    const types = Object.values(Resources).map((resource) => (resource as { Type: string }).Type);
    expect(types.filter((type) => type === 'AWS::Lambda::Function')).toHaveLength(4);
    expect(types).toContain('AWS::Lambda::EventSourceMapping');
    const assets = readdirSync(join(elsewhere, 'cdk.out')).filter((name) =>
      name.startsWith('asset.'),
    );
    const files = assets.map((name) => readdirSync(join(elsewhere, 'cdk.out', name)).sort());
    expect(files).toEqual(assets.map(() => ['index.mjs', 'plan.json']));
    expect(existsSync(join(elsewhere, 'tidemark.lock.json'))).toBe(true);
  });
});

describe('the package, in a folder that holds nothing but a pipeline file', () => {
  it('runs the pipeline: npx tidemark dev, put, query', async () => {
    writeFileSync(
      join(elsewhere, 'records.ndjson'),
      '{"id":1,"origin":"ATL","delay":7,"date":0}\n',
    );
    const dev = spawn('npx', ['--no-install', 'tidemark', 'dev', '--port', '0', '--json'], {
      cwd: elsewhere,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    try {
      const [line] = (await once(createInterface({ input: dev.stdout }), 'line')) as [string];
      const { event, url } = JSON.parse(line) as { event: string; url: string };
      const put = tidemark(
        'put',
        'records.ndjson',
        '--key',
        'origin',
        '--kinesis-endpoint',
        url,
        '--json',
      );
      const { after } = JSON.parse(put.stdout) as { after: string[] };
      const at = ['--query-url', url, '--json', '--after', after[0] ?? ''];
      const query = tidemark('query', 'delay_by_origin', ...at);

      expect(event).toBe('ready');
      expect(JSON.parse(query.stdout).rows).toMatchObject([
        { key: { origin: 'ATL' }, values: { flights: 1, total: 7 } },
      ]);
      expect((await (await fetch(url)).text()).toLowerCase()).toContain('<!doctype html>');
    } finally {
      // npx is the leader of a group of its own, with the runtime in it.
      process.kill(-(dev.pid as number), 'SIGTERM');
      await once(dev, 'exit');
    }
  });
});

/** The tree without what npm and runs leave behind; node_modules by reference. */
function copyTree(to: string): void {
  cpSync(ROOT, to, {
    recursive: true,
    filter: (path) => !NOT_COPIED.test(relative(ROOT, path)),
  });
  symlinkSync(join(ROOT, 'node_modules'), join(to, 'node_modules'), 'dir');
}

function npm(cwd: string, ...args: string[]): string {
  return execFileSync('npm', [...args, '--no-fund', '--no-audit'], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function tidemark(...args: string[]) {
  return spawnSync('npx', ['--no-install', 'tidemark', ...args], {
    cwd: elsewhere,
    encoding: 'utf8',
  });
}

const installed = (path: string): string => join(elsewhere, 'node_modules/tidemark', path);
