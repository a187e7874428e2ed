/**
 * This repository's own app, by the real command line; and cdk-nag over everything that the construct can be.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Duration, type Stack, Validations } from 'aws-cdk-lib';
import { Stream } from 'aws-cdk-lib/aws-kinesis';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { parsePlan } from '../../core/definition/parse-plan.ts';
import type { TidemarkPipelineProps } from '../../infra/pipeline-props.ts';
import { repositoryApp } from '../../infra/repository-app.ts';
import {
  lockText,
  makeApp,
  newFolder,
  ORDERS_WITH_IDLE,
  QUICK,
  QUICK_CONTEXT,
} from './pipeline-app.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXAMPLE = join(ROOT, 'examples/flights');

function cdk(...args: string[]) {
  const program = join(ROOT, 'node_modules/.bin/cdk');
  const { status, stdout, stderr } = spawnSync(program, ['synth', '--no-notices', ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, CDK_DISABLE_CLI_TELEMETRY: 'true' },
  });
  return { status, text: `${stdout}${stderr}` };
}

describe('cdk synth', () => {
  it('makes a template with all that it needs, and the same again', () => {
    const folder = newFolder();
    const locked = lockText(EXAMPLE);
    const { status, text } = cdk('--quiet', '-c', 'stage=prod', '--output', join(folder, 'out'));

    expect([status, text]).toEqual([0, expect.not.stringMatching(/warning|error/i)]);
    const template = readFileSync(join(folder, 'out/tidemark-flights-prod.template.json'), 'utf8');
    const functions = functionsOf(template);
    expect(functions).toHaveLength(4);
    for (const { Code } of functions) {
      const asset = join(folder, 'out', `asset.${Code.S3Key.replace('.zip', '')}`);
      expect(existsSync(join(asset, 'index.mjs'))).toBe(true);
      const plan = parsePlan(JSON.parse(readFileSync(join(asset, 'plan.json'), 'utf8')));
      expect(plan).toMatchObject({ ok: true, plan: { name: 'flights' } });
    }
    // What is committed is what is deployed.
    expect(locked).not.toBeNull();
    expect(lockText(EXAMPLE)).toBe(locked);
    const { pipelines } = JSON.parse(locked ?? '');
    expect(pipelines['dev/flights'].pipeline).toEqual(pipelines['prod/flights'].pipeline);

    const again = repositoryApp({
      ...QUICK,
      outdir: join(folder, 'again'),
      context: {
        ...QUICK_CONTEXT,
        ...cdkJson().context,
        stage: 'prod',
        // As the command line asks.
        'aws:cdk:enable-path-metadata': true,
        'aws:cdk:enable-asset-metadata': true,
      },
    });
    again.synth();
    expect(readFileSync(join(folder, 'again/tidemark-flights-prod.template.json'), 'utf8')).toBe(
      template,
    );
  });
});

describe('the app of this repository', () => {
  const synthesise = (context: Readonly<Record<string, string>>) => {
    const outdir = join(newFolder(), 'out');
    repositoryApp({ ...QUICK, outdir, context: { ...QUICK_CONTEXT, ...context } }).synth();
    return outdir;
  };

  it('makes another stack for another pipeline', () => {
    const pipeline = join(newFolder(), 'shop.json');
    writeFileSync(pipeline, JSON.stringify({ ...ORDERS_WITH_IDLE, name: 'Shop_Orders.eu' }));

    const outdir = synthesise({ pipeline });
    expect(existsSync(join(outdir, 'tidemark-Shop-Orders-eu-dev.template.json'))).toBe(true);
  });

  it.each([
    ['stage=test', '-c stage=test: expected dev or prod'],
    ['target=moon', '-c target=moon: expected aws or emulator'],
    ['pipeline=nowhere.json', 'there is no pipeline file nowhere.json'],
  ])('says what -c %s should be', (context, expected) => {
    expect(() => synthesise(Object.fromEntries([context.split('=')]))).toThrow(expected);
  });
});

function cdkJson(): { context: Record<string, unknown> } {
  return JSON.parse(readFileSync(join(ROOT, 'cdk.json'), 'utf8'));
}

function functionsOf(template: string): { Code: { S3Key: string } }[] {
  const resources: { Type: string; Properties: { Code: { S3Key: string } } }[] = Object.values(
    JSON.parse(template).Resources,
  );
  return resources
    .filter(({ Type }) => Type === 'AWS::Lambda::Function')
    .map(({ Properties }) => Properties);
}

describe('cdk-nag', () => {
  const given = (stack: Stack): Omit<TidemarkPipelineProps, 'pipeline'> => ({
    stream: Stream.fromStreamArn(
      stack,
      'Given',
      'arn:aws:kinesis:eu-west-1:111122223333:stream/given',
    ),
    streamKey: Key.fromKeyArn(stack, 'Key', 'arn:aws:kms:eu-west-1:111122223333:key/k'),
    bucket: Bucket.fromBucketName(stack, 'Theirs', 'theirs'),
    start: 'TRIM_HORIZON',
    retention: Duration.days(7),
  });

  it.each<[string, (stack: Stack) => Omit<TidemarkPipelineProps, 'pipeline'>]>([
    ['in prod', () => ({})],
    ['at stage dev', () => ({ stage: 'dev' })],
    ['with a stream and a bucket of others', given],
    ['on an emulator', () => ({ target: 'emulator' })],
  ])('finds nothing %s, nor does CloudFormation', (_, props) => {
    const options = { pipeline: ORDERS_WITH_IDLE, props, isWhole: true };
    const { app, stack, template } = makeApp(options);

    expect(template).not.toThrow();
    expect(new AwsSolutionsChecks(app).validateScope(stack).violations).toEqual([]);
  });

  it('looks: it finds what somebody else put beside the pipeline', () => {
    const { app, stack } = makeApp({ pipeline: ORDERS_WITH_IDLE });
    new Bucket(stack, 'Careless');
    const { violations } = new AwsSolutionsChecks(app).validateScope(stack);
    expect(violations.map(({ ruleName }) => ruleName)).toEqual([
      'AwsSolutions-S1',
      'AwsSolutions-S10',
    ]);
    expect(violations.flatMap((each) => each.violatingResources)).toHaveLength(2);
  });

  it('has a reason for each finding that is acknowledged', () => {
    const { pipeline } = makeApp({ pipeline: ORDERS_WITH_IDLE });
    const acknowledged = pipeline.node
      .findAll()
      .flatMap((node) =>
        node.node.metadata
          .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
          .flatMap(({ data }) => Object.entries(data as Record<string, string>)),
      );

    expect(new Set(acknowledged.map(([id]) => /AwsSolutions-\w+/.exec(id)?.[0]))).toEqual(
      new Set(['AwsSolutions-S1', 'AwsSolutions-SQS3', 'AwsSolutions-IAM5']),
    );
    for (const [, reason] of acknowledged) expect(reason.length).toBeGreaterThan(40);
  });
});
