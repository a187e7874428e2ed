/**
 * The guards that look at the template, run when CDK validates; and the lock file, written when they all pass and never otherwise.
 */

import { Stack } from 'aws-cdk-lib';
import { CfnPolicy, CfnRole } from 'aws-cdk-lib/aws-iam';
import { CfnStream } from 'aws-cdk-lib/aws-kinesis';
import type {
  CfnEventSourceMapping,
  IFunction,
  Function as LambdaFunction,
} from 'aws-cdk-lib/aws-lambda';
import { CfnBucket } from 'aws-cdk-lib/aws-s3';
import type { Construct, IConstruct } from 'constructs';
import { planToJson } from '../core/definition/plan-json.ts';
import type { FunctionName } from '../functions/deployment-contract.ts';
import { guardKeys } from './guards/key-guard.ts';
import { ALLOW_DROP, guardLock } from './guards/lock-guard.ts';
import { guardMapping } from './guards/mapping-guard.ts';
import { guardPermissions, type Statement } from './guards/permission-guard.ts';
import { type Refusal, refusalText } from './guards/refusal.ts';
import { type LockedPipeline, lockKey, readLock, writeLock } from './lock-file.ts';
import { PERMISSIONS } from './permissions.ts';
import { type PipelineSettings, startText } from './pipeline-settings.ts';
import { logicalIdOf, type Properties, renderedProperties } from './rendered-resource.ts';
import { type PipelineResources, resourceArns } from './resource-arns.ts';

export interface Deployed {
  readonly settings: PipelineSettings;
  readonly resources: PipelineResources;
  readonly functions: readonly { readonly name: FunctionName; readonly made: LambdaFunction }[];
  readonly aggregate: IFunction;
  readonly mapping: CfnEventSourceMapping;
}

export function checkAtSynth(construct: Construct, deployed: Deployed): void {
  construct.node.addValidation({
    validate: () => {
      const refusals = [
        ...guardMapping(renderedProperties(deployed.mapping)),
        ...permissionRefusals(construct, deployed),
        ...guardKeys(keyFacts(deployed.resources)),
        ...lockRefusals(construct, deployed),
      ];
      if (refusals.length === 0) writeLocked(construct, deployed);
      return refusals.map(refusalText);
    },
  });
}

function permissionRefusals(
  construct: Construct,
  { functions, resources, aggregate }: Deployed,
): Refusal[] {
  const stack = Stack.of(construct);
  return functions.flatMap(({ name, made }) => {
    const arns = resourceArns(resources, { aggregate, logs: made.logGroup });
    const needs = PERMISSIONS[name].flatMap(({ on, actions }) => {
      const resource = arns[on];
      if (resource === undefined) return [];
      return actions.map((action) => ({ action, resource: stack.resolve(resource) as unknown }));
    });
    const statements = made.role === undefined ? [] : statementsOf(made.role);
    return guardPermissions({ functionName: name, needs, statements });
  });
}

/** Of the policies in a role and below it, as rendered. */
function statementsOf(role: IConstruct): Statement[] {
  return role.node.findAll().flatMap((node) => {
    if (node instanceof CfnPolicy) return documentOf(renderedProperties(node)['PolicyDocument']);
    if (!(node instanceof CfnRole)) return [];
    const inline = renderedProperties(node)['Policies'] as readonly Properties[] | undefined;
    return (inline ?? []).flatMap((policy) => documentOf(policy['PolicyDocument']));
  });
}

function documentOf(document: unknown): readonly Statement[] {
  return (document as { readonly Statement?: readonly Statement[] } | undefined)?.Statement ?? [];
}

function keyFacts({ stream, streamKey, bucket }: PipelineResources) {
  const streamResource = stream.node.defaultChild;
  const bucketResource = bucket.node.defaultChild;
  return {
    streamKeyId:
      streamResource instanceof CfnStream
        ? at(renderedProperties(streamResource), 'StreamEncryption', 'KeyId')
        : undefined,
    isStreamKeyKnown: streamKey !== undefined,
    bucketKeyId:
      bucketResource instanceof CfnBucket
        ? at(
            renderedProperties(bucketResource),
            'BucketEncryption',
            'ServerSideEncryptionConfiguration',
            '0',
            'ServerSideEncryptionByDefault',
            'KMSMasterKeyID',
          )
        : undefined,
    isBucketKeyKnown: bucket.encryptionKey !== undefined,
  };
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((part, name) => {
    return typeof part === 'object' && part !== null ? Reflect.get(part, name) : undefined;
  }, value);
}

function lockRefusals(construct: Construct, deployed: Deployed): Refusal[] {
  const { settings } = deployed;
  if (settings.target === 'emulator') return [];
  return guardLock({
    key: lockKey(settings.stage, settings.plan.name),
    now: lockedNow(construct, deployed),
    locked: readLock(settings.lockFolder),
    allowDrop: String(construct.node.tryGetContext(ALLOW_DROP) ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  });
}

/** What an emulator holds is gone with it: there is nothing to protect. */
function writeLocked(construct: Construct, deployed: Deployed): void {
  const { settings } = deployed;
  if (settings.target === 'emulator') return;
  const key = lockKey(settings.stage, settings.plan.name);
  writeLock(settings.lockFolder, key, lockedNow(construct, deployed));
}

function lockedNow(construct: Construct, { settings, mapping }: Deployed): LockedPipeline {
  const rendered = renderedProperties(mapping);
  return {
    construct: construct.node.path,
    mapping: {
      logicalId: logicalIdOf(mapping),
      start: renderedStart(rendered) ?? startText(settings),
      stream: rendered['EventSourceArn'],
    },
    pipeline: planToJson(settings.plan),
  };
}

/** From the template, so that an override counts. */
function renderedStart(mapping: Properties): string | null {
  const { StartingPosition: position, StartingPositionTimestamp: seconds } = mapping;
  if (position === 'AT_TIMESTAMP' && typeof seconds === 'number') {
    return new Date(seconds * 1000).toISOString();
  }
  return typeof position === 'string' ? position : null;
}
