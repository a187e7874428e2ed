/**
 * An app with one pipeline, synthesised: in a folder of its own, where the pipeline file and the lock file lie too.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, type AppProps, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import {
  DISABLE_ASSET_STAGING_CONTEXT,
  DISABLE_CREATION_STACK_TRACES,
  VALIDATE_AGAINST_DEFAULT_RULES,
} from 'aws-cdk-lib/cx-api';
import { onTestFinished, vi } from 'vitest';
import type { PipelineJson } from '../../core/definition/pipeline-json.ts';
import type { TidemarkPipelineProps } from '../../infra/pipeline-props.ts';
import { TidemarkPipeline } from '../../infra/tidemark-pipeline.ts';

// What CI refuses has a test of its own.
vi.stubEnv('CI', '');

export const ORDERS: PipelineJson = {
  name: 'orders',
  stream: 'shop-orders',
  views: {
    by_city: { groupBy: ['city'], aggregates: { orders: { count: '*' } } },
    by_day: { window: { tumbling: '1d' }, aggregates: { total: { sum: 'amount' } } },
  },
};

/** With everything that a plan may turn on. */
export const ORDERS_WITH_IDLE: PipelineJson = {
  ...ORDERS,
  time: { field: 'at', idle: '6m' },
};

export interface SynthOptions {
  readonly pipeline?: PipelineJson;
  /** Made in the same stack, before the pipeline. */
  readonly props?: (stack: Stack) => Omit<TidemarkPipelineProps, 'pipeline'>;
  readonly context?: Readonly<Record<string, string>>;
  /** The folder of an app before: a second deploy. */
  readonly folder?: string;
  readonly constructId?: string;
  /**
   * With what takes most of a synth, and is off else: assets are staged, and CDK compares the template with CloudFormation's
   * schemas, and refuses what differs.
   */
  readonly isWhole?: boolean;
  /** After the pipeline is made: an escape hatch, a grant. */
  readonly change?: (pipeline: TidemarkPipeline, stack: Stack) => void;
}

/** Without what takes longer than all the rest, under vitest most of all, and does not change the template. */
export const QUICK = {
  stackTraces: false,
  treeMetadata: false,
  analyticsReporting: false,
  builtinCloudFormationValidation: false,
} satisfies AppProps;

export const QUICK_CONTEXT = { [DISABLE_CREATION_STACK_TRACES]: true };

export interface SynthesisedApp {
  readonly app: App;
  readonly stack: Stack;
  readonly pipeline: TidemarkPipeline;
  readonly folder: string;
  /** Throws what the guards say. */
  readonly template: () => Template;
}

export function makeApp(options: SynthOptions = {}): SynthesisedApp {
  const folder = options.folder ?? newFolder();
  const path = join(folder, 'pipeline.json');
  writeFileSync(path, JSON.stringify(options.pipeline ?? ORDERS));
  const app = new App({
    outdir: mkdtempSync(join(folder, 'out-')),
    context: {
      ...QUICK_CONTEXT,
      [DISABLE_ASSET_STAGING_CONTEXT]: options.isWhole !== true,
      [VALIDATE_AGAINST_DEFAULT_RULES]: true,
      ...options.context,
    },
    ...QUICK,
    builtinCloudFormationValidation: options.isWhole === true,
  });
  const stack = new Stack(app, 'Shop');
  const pipeline = new TidemarkPipeline(stack, options.constructId ?? 'Orders', {
    pipeline: path,
    ...options.props?.(stack),
  });
  options.change?.(pipeline, stack);
  return { app, stack, pipeline, folder, template: () => Template.fromStack(stack) };
}

/** Gone when the test ends. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-infra-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function lockText(folder: string): string | null {
  try {
    return readFileSync(join(folder, 'tidemark.lock.json'), 'utf8');
  } catch {
    return null;
  }
}

/** What making or synthesising the app throws; fails if it throws nothing. */
export function refusalOf(options: SynthOptions): string {
  try {
    makeApp(options).template();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error('nothing was refused');
}
