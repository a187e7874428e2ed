/**
 * The guards that look at the template, run when CDK validates; and the lock file, written when they all pass, and
 * the rest of the app too, and never otherwise.
 */

import { Annotations, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { CfnPolicy, CfnRole } from 'aws-cdk-lib/aws-iam';
import { CfnStream, StreamMode } from 'aws-cdk-lib/aws-kinesis';
import { CfnBucket, type IBucket } from 'aws-cdk-lib/aws-s3';
import type { Construct, IConstruct } from 'constructs';
import { type DeployedPipeline, remember } from './deployed-pipeline.ts';
import { escapeHatchRefusals } from './escape-hatches.ts';
import { guardKeys } from './guards/key-guard.ts';
import { ALLOW_DROP, guardLock, NEW_PIPELINE } from './guards/lock-guard.ts';
import { guardMapping, type MappingEnds } from './guards/mapping-guard.ts';
import { guardPermissions, type Statement } from './guards/permission-guard.ts';
import { type Refusal, refusalText } from './guards/refusal.ts';
import { LOCK_FILE, lockedOf, lockKey, readLock, writeLock } from './lock-file.ts';
import { lockedNow } from './locked-now.ts';
import { leadingKeysCondition, PERMISSIONS } from './permissions.ts';
import type { PipelineSettings } from './pipeline-settings.ts';
import { at, type Properties, renderedProperties } from './rendered-resource.ts';
import { type PipelineResources, resourceArns } from './resource-arns.ts';
import { isRestAllowed } from './rest-of-app.ts';
import { mappingEnds } from './stream-mapping.ts';

export function checkAtSynth(construct: Construct, deployed: DeployedPipeline): void {
  warn(construct, deployed);
  remember(construct, deployed);
  construct.node.addValidation({
    validate: () => {
      const refusals = [
        ...mappingRefusals(construct, deployed),
        ...permissionRefusals(construct, deployed),
        ...guardKeys(keyFacts(Stack.of(construct), deployed.resources)),
        ...escapeHatchRefusals(construct, deployed),
        ...lockRefusals(construct, deployed),
      ];
      if (refusals.length === 0 && isRestAllowed(construct)) writeLocked(construct, deployed);
      return refusals.map(refusalText);
    },
  });
}

function warn(construct: Construct, { settings, resources }: DeployedPipeline): void {
  const warnings = Annotations.of(construct);
  const { stream, bucket } = resources;
  if (asksKeyEachTime(bucket)) {
    warnings.addWarningV2(
      'tidemark:no-bucket-keys',
      'the given bucket is encrypted with KMS and has no bucket keys: each PUT and GET asks KMS, which may cost more than all else of a shard (docs/operations.md, "Cost"). Make it with bucketKeyEnabled: true.',
    );
  }
  const isOwnStream = stream.node.scopes.includes(construct);
  if (isOwnStream && settings.streamMode === StreamMode.ON_DEMAND) {
    warnings.addWarningV2(
      'tidemark:on-demand-splits',
      'an on-demand stream splits its shards by itself, and in this version slices do not pass their state on then: windows that a closed shard holds open never become closed, and ids that it knew are not known to its children (docs/operations.md, "Reshard with care"). Take StreamMode.PROVISIONED unless the pipeline has neither.',
    );
  }
  if (settings.target === 'emulator' || !isStageKept(settings)) return;
  if (settings.queryConcurrency === undefined) {
    warnings.addInfo(
      'queryConcurrency is not given: readers share the concurrency of the account with the batches, and many may starve them. Give a number such as 20, where the account keeps 100 unreserved beside it (an account with a limit of 10, as new ones have, cannot reserve any: raise the limit first).',
    );
  }
  const key = lockKeyOf(settings);
  if (lockedOf(key, readLock(settings.lockFolder)) !== undefined) return;
  warnings.addWarningV2(
    'tidemark:lock-is-new',
    `${LOCK_FILE} says nothing of ${key} yet: it is written now. Commit it: without it no later synth can refuse what would lose state.`,
  );
}

function mappingRefusals(construct: Construct, { settings, resources, ...made }: DeployedPipeline) {
  const ends = {
    stream: resources.stream,
    aggregate: made.aggregate,
    onFailure: resources.onFailure,
  };
  const wanted = Stack.of(construct).resolve(mappingEnds(settings, ends)) as MappingEnds;
  return guardMapping(renderedProperties(made.mapping), wanted);
}

function permissionRefusals(
  construct: Construct,
  { functions, resources, aggregate }: DeployedPipeline,
): Refusal[] {
  const stack = Stack.of(construct);
  return functions.flatMap(({ name, made }) => {
    const arns = resourceArns(resources, { aggregate, logs: made.logGroup });
    const needs = PERMISSIONS[name].flatMap(({ on, actions, leadingKeys }) => {
      const arn = arns[on];
      if (arn === undefined) return [];
      const resource = stack.resolve(arn) as unknown;
      const condition = leadingKeys === undefined ? undefined : leadingKeysCondition(leadingKeys);
      return actions.map((action) => ({ action, resource, condition }));
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

const ENCRYPTION = ['BucketEncryption', 'ServerSideEncryptionConfiguration', '0'] as const;

/** Seen only where the bucket is of this app. */
function asksKeyEachTime(bucket: IBucket): boolean {
  const resource = bucket.node.defaultChild;
  if (!(resource instanceof CfnBucket)) return false;
  const properties = renderedProperties(resource);
  const algorithm = at(properties, ...ENCRYPTION, 'ServerSideEncryptionByDefault', 'SSEAlgorithm');
  return algorithm === 'aws:kms' && at(properties, ...ENCRYPTION, 'BucketKeyEnabled') !== true;
}

function keyFacts(stack: Stack, { stream, streamKey, bucket, table }: PipelineResources) {
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
            ...ENCRYPTION,
            'ServerSideEncryptionByDefault',
            'KMSMasterKeyID',
          )
        : undefined,
    isBucketKeyKnown: bucket.encryptionKey !== undefined,
    tableKeyId: stack.resolve(table.encryptionKey?.keyArn) as unknown,
  };
}

function lockRefusals(construct: Construct, deployed: DeployedPipeline): Refusal[] {
  const { settings } = deployed;
  if (settings.target === 'emulator') return [];
  return guardLock({
    key: lockKeyOf(settings),
    now: lockedNow(construct, deployed),
    locked: readLock(settings.lockFolder),
    allowDrop: contextList(construct, ALLOW_DROP),
    newPipelines: contextList(construct, NEW_PIPELINE),
    isCi: process.env['CI'] === 'true',
    isKept: isStageKept(settings),
  });
}

/** Of `-c name=a,b`. */
function contextList(construct: Construct, name: string): string[] {
  return String(construct.node.tryGetContext(name) ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

/** What an emulator holds is gone with it: there is nothing to protect. */
function writeLocked(construct: Construct, deployed: DeployedPipeline): void {
  const { settings } = deployed;
  if (settings.target === 'emulator') return;
  writeLock(settings.lockFolder, lockKeyOf(settings), lockedNow(construct, deployed));
}

function lockKeyOf({ stage, plan }: PipelineSettings): string {
  return lockKey(stage, plan.name);
}

function isStageKept({ removalPolicy }: PipelineSettings): boolean {
  return removalPolicy !== RemovalPolicy.DESTROY;
}
