/**
 * What a cold start of each function costs here: the size of its bundle, and the time from a started Node to a handler that
 * can be called, beside a Node that loads nothing.
 *
 *   npm run bench -- cold-start [runs]
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parsePlan } from '../core/definition/parse-plan.ts';
import { canonicalJson, planToJson } from '../core/definition/plan-json.ts';
import flights from '../examples/flights/tidemark.config.ts';
import { FUNCTION_NAMES, PLAN_FILE, VARIABLE } from '../functions/deployment-contract.ts';
import { bundleFunction } from '../scripts/bundle-functions.ts';

const runs = Number(process.argv[2] ?? 9);
const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
const parsed = parsePlan(flights);
if (!parsed.ok) throw new Error('the example is sound');
const variables = {
  [VARIABLE.table]: 'table',
  [VARIABLE.bucket]: 'bucket',
  [VARIABLE.keyPrefix]: '',
  [VARIABLE.streamArn]: 'arn:aws:kinesis:us-east-1:000000000000:stream/flights',
  [VARIABLE.start]: 'TRIM_HORIZON',
  [VARIABLE.retentionHours]: '168',
  [VARIABLE.service]: 'flights',
  [VARIABLE.aggregateFunction]: 'aggregate',
  AWS_REGION: 'us-east-1',
};
try {
  const nothing = join(folder, 'nothing.mjs');
  writeFileSync(nothing, 'export const handler = () => {};');
  console.log(`import, best and median of ${runs} runs; ${process.version}`);
  report('nothing', nothing, 0);
  for (const name of FUNCTION_NAMES) {
    const asset = join(folder, name);
    mkdirSync(asset);
    const file = join(asset, 'index.mjs');
    bundleFunction(name, file);
    writeFileSync(join(asset, PLAN_FILE), canonicalJson(planToJson(parsed.plan)));
    report(name, file, statSync(file).size);
  }
} finally {
  rmSync(folder, { recursive: true });
}

function report(name: string, file: string, byteLength: number): void {
  const times = Array.from({ length: runs }, () => importMs(file)).sort((a, b) => a - b);
  const median = times[Math.floor(runs / 2)] as number;
  const size = `${(byteLength / 1024).toFixed(0)} KiB`.padStart(8);
  console.log(`${name.padEnd(10)} ${size}  ${times[0]?.toFixed(0)} ms, ${median.toFixed(0)} ms`);
}

/** As a process of its own measures it: from before the import until the handler is there. */
function importMs(file: string): number {
  const script = `
    const startMs = performance.now();
    const { handler } = await import(${JSON.stringify(pathToFileURL(file).href)});
    if (typeof handler !== 'function') throw new Error('no handler');
    console.log(performance.now() - startMs);`;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', script],
    { encoding: 'utf8', env: { ...process.env, ...variables } },
  );
  if (status !== 0) throw new Error(stderr);
  return Number(stdout);
}
