/**
 * The code of each function as Lambda gets it: a folder with the bundle and the plan beside it. Made without Docker.
 *
 * An installed package brings its bundles. Where this file runs from its source, they are made on the fly; only then is
 * `scripts/` needed.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Stage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { canonicalJson, planToJson } from '../core/definition/plan-json.ts';
import { type FunctionName, PLAN_FILE } from '../functions/deployment-contract.ts';
import { writeEmulatorRuntime } from './emulator-target.ts';
import type { PipelineSettings } from './pipeline-settings.ts';

const BUNDLE_FILE = 'index.mjs';
/** Beside this file in the repository, and not in the package. */
const BUNDLE_SCRIPT = '../scripts/bundle-functions.ts';
const isSource = import.meta.url.endsWith('.ts');

/** The asset of a function with a plan: the same bytes for the same code and plan. */
export function functionCode(
  scope: Construct,
  { plan, target }: PipelineSettings,
  name: FunctionName,
): Code {
  // In the cloud assembly, where CDK keeps what it stages: nothing is left elsewhere.
  const outdir = Stage.of(scope)?.assetOutdir ?? 'cdk.out';
  const folder = join(outdir, 'tidemark-functions', `${plan.name}-${plan.hash}-${target}`, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const bundleFile = join(folder, BUNDLE_FILE);
  if (isSource) bundleFromSource(name, bundleFile);
  else copyFileSync(packagedBundle(name), bundleFile);
  writeFileSync(join(folder, PLAN_FILE), `${canonicalJson(planToJson(plan))}\n`);
  if (target === 'emulator') writeEmulatorRuntime(folder);
  return Code.fromAsset(folder);
}

function packagedBundle(name: FunctionName): string {
  const path = fileURLToPath(
    new URL(`../functions-bundled/${name}/${BUNDLE_FILE}`, import.meta.url),
  );
  if (existsSync(path)) return path;
  throw new Error(
    `the package lacks ${path}: it was not built as it is published; install it again`,
  );
}

/** What this process has bundled: several pipelines have the same code. */
const bundles = new Map<FunctionName, Uint8Array>();

function bundleFromSource(name: FunctionName, outFile: string): void {
  const bundle = bundles.get(name);
  if (bundle !== undefined) {
    writeFileSync(outFile, bundle);
    return;
  }
  // A program of its own: the package neither needs nor holds what bundles it.
  const script = fileURLToPath(new URL(BUNDLE_SCRIPT, import.meta.url));
  execFileSync(process.execPath, [script, name, outFile], { stdio: ['ignore', 'ignore', 'pipe'] });
  bundles.set(name, readFileSync(outFile));
}
