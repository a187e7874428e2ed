/**
 * What an escape hatch, an aspect or another construct of the app made of a pipeline, as rendered. The mapping's own settings and
 * the roles are looked at in `deployment-check.ts`.
 */
import { CfnResource, Stack } from 'aws-cdk-lib';
import { CfnStream } from 'aws-cdk-lib/aws-kinesis';
import { CfnEventSourceMapping, CfnFunction, CfnUrl } from 'aws-cdk-lib/aws-lambda';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { Construct, IConstruct } from 'constructs';
import { canonicalJson } from '../core/definition/plan-json.ts';
import { type DeployedPipeline, otherPipelines } from './deployed-pipeline.ts';
import { functionEnvironment } from './function-environment.ts';
import { isOn } from './function-references.ts';
import { guardConcurrency } from './guards/concurrency-guard.ts';
import { guardExpiry, type LifecycleRule } from './guards/expiry-guard.ts';
import { guardOtherMappings } from './guards/other-mapping-guard.ts';
import { guardEnvironment, guardRenderedRetention, guardUrls } from './guards/override-guard.ts';
import { guardRecordSize } from './guards/record-size-guard.ts';
import type { Refusal } from './guards/refusal.ts';
import { guardRemoval } from './guards/removal-guard.ts';
import { STREAM_HOURS_DEFAULT } from './guards/retention-guard.ts';
import { guardSharing } from './guards/sharing-guard.ts';
import { PERMISSIONS } from './permissions.ts';
import { at, type Properties, renderedProperties } from './rendered-resource.ts';

export function escapeHatchRefusals(construct: Construct, deployed: DeployedPipeline): Refusal[] {
  return [
    ...removalRefusals(construct, deployed),
    ...otherMappingRefusals(construct, deployed),
    ...urlRefusals(construct, deployed),
    ...environmentRefusals(construct, deployed),
    ...concurrencyRefusals(deployed),
    ...retentionRefusals(deployed),
    ...guardRecordSize(at(propertiesOf(deployed.resources.stream), 'MaxRecordSizeInKiB')),
    ...expiryRefusals(deployed),
    ...guardSharing({
      keyPrefix: deployed.resources.keyPrefix,
      others: sharers(construct, deployed),
    }),
  ];
}

function removalRefusals(construct: Construct, { mapping, activation }: DeployedPipeline) {
  const tree = new Set(construct.node.findAll());
  const removed = [
    [mapping, 'event source mapping', 'nothing brings records, until they expire'],
    [
      activation,
      'activation of the plan',
      'functions hold every batch back for a plan that never comes',
    ],
  ] as const;
  return guardRemoval({
    removed: removed
      .filter(([node]) => !tree.has(node))
      .map(([, what, without]) => [what, without] as const),
  });
}

function otherMappingRefusals(construct: Construct, { aggregate, mapping }: DeployedPipeline) {
  const target = functionOf(aggregate);
  if (target === undefined) return [];
  const others = construct.node.root.node
    .findAll()
    .filter((node) => node instanceof CfnEventSourceMapping)
    .filter((node) => node !== mapping)
    .filter((resource) => {
      return isOn(target, { resource, property: 'FunctionName', given: resource.functionName });
    });
  return guardOtherMappings(others.map(({ node }) => node.path));
}

function urlRefusals(construct: Construct, { functions }: DeployedPipeline): Refusal[] {
  const targets = functions.flatMap(({ made }) => functionOf(made) ?? []);
  const urls = construct.node.root.node
    .findAll()
    .filter((node) => node instanceof CfnUrl)
    .filter((resource) => {
      const naming = { resource, property: 'TargetFunctionArn', given: resource.targetFunctionArn };
      return targets.some((target) => isOn(target, naming));
    });
  return guardUrls(
    urls.map((url) => ({ path: url.node.path, authType: renderedProperties(url)['AuthType'] })),
  );
}

function environmentRefusals(construct: Construct, deployed: DeployedPipeline): Refusal[] {
  const { settings, resources, functions, aggregate } = deployed;
  return functions.flatMap(({ name, made }) => {
    const target = functionOf(made);
    const isAsking = PERMISSIONS[name].some(({ on }) => on === 'aggregate');
    const wanted = functionEnvironment(settings, resources, isAsking ? aggregate : undefined);
    const rendered = target && at(renderedProperties(target), 'Environment', 'Variables');
    return guardEnvironment({
      functionName: name,
      wanted: Stack.of(construct).resolve(wanted) as Properties,
      rendered: (rendered ?? {}) as Properties,
    });
  });
}

/** The least for one shard where their number is unknown. */
function concurrencyRefusals({ aggregate, settings }: DeployedPipeline): Refusal[] {
  const target = functionOf(aggregate);
  const reserved = target && renderedProperties(target)['ReservedConcurrentExecutions'];
  if (typeof reserved !== 'number') return [];
  return guardConcurrency({ reserved, shardCount: settings.shardCount ?? 1 });
}

function retentionRefusals({ resources, settings }: DeployedPipeline): Refusal[] {
  const stream = resources.stream.node.defaultChild;
  if (!(stream instanceof CfnStream)) return [];
  return guardRenderedRetention({
    hours: settings.retentionHours,
    renderedHours: renderedProperties(stream)['RetentionPeriodHours'] ?? STREAM_HOURS_DEFAULT,
  });
}

function expiryRefusals({ resources: { bucket, table, keyPrefix } }: DeployedPipeline): Refusal[] {
  const rules = at(propertiesOf(bucket), 'LifecycleConfiguration', 'Rules');
  const timeToLive = at(propertiesOf(table), 'TimeToLiveSpecification');
  return guardExpiry({
    rules: (rules ?? []) as readonly LifecycleRule[],
    keyPrefix,
    timeToLive: timeToLive as { readonly Enabled?: unknown } | undefined,
  });
}

/** The paths of other pipelines under the same keys. */
function sharers(construct: Construct, { resources }: DeployedPipeline): string[] {
  const own = bucketOf(resources.bucket);
  return otherPipelines(construct)
    .filter(([, { resources: other }]) => other.keyPrefix === resources.keyPrefix)
    .filter(([, { resources: other }]) => bucketOf(other.bucket) === own)
    .map(([path]) => path);
}

/** The resource where it is of this app, otherwise its name. */
function bucketOf(bucket: IBucket): unknown {
  return bucket.node.defaultChild ?? canonicalJson(Stack.of(bucket).resolve(bucket.bucketName));
}

function propertiesOf({ node }: IConstruct): Properties {
  const { defaultChild: resource } = node;
  return resource instanceof CfnResource ? renderedProperties(resource) : {};
}

function functionOf({ node }: IConstruct): CfnFunction | undefined {
  return node.defaultChild instanceof CfnFunction ? node.defaultChild : undefined;
}
