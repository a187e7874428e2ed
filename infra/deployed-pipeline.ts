/**
 * What the guards that look at the template know of a pipeline, and which other pipelines its app has.
 */

import type { CfnResource } from 'aws-cdk-lib';
import type {
  CfnEventSourceMapping,
  IFunction,
  Function as LambdaFunction,
} from 'aws-cdk-lib/aws-lambda';
import type { Construct, IConstruct } from 'constructs';
import type { FunctionName } from '../functions/deployment-contract.ts';
import type { PipelineSettings } from './pipeline-settings.ts';
import type { PipelineResources } from './resource-arns.ts';

export interface DeployedPipeline {
  readonly settings: PipelineSettings;
  readonly resources: PipelineResources;
  readonly functions: readonly { readonly name: FunctionName; readonly made: LambdaFunction }[];
  readonly aggregate: IFunction;
  readonly mapping: CfnEventSourceMapping;
  readonly activation: CfnResource;
}

/** A construct cannot be asked what it is made of by those that it is made of. */
const byConstruct = new WeakMap<IConstruct, DeployedPipeline>();

export function remember(construct: Construct, deployed: DeployedPipeline): void {
  byConstruct.set(construct, deployed);
}

/** By the path of their constructs. */
export function otherPipelines(
  construct: Construct,
): readonly (readonly [string, DeployedPipeline])[] {
  return construct.node.root.node.findAll().flatMap((node) => {
    const deployed = node === construct ? undefined : byConstruct.get(node);
    return deployed === undefined ? [] : [[node.node.path, deployed] as const];
  });
}
