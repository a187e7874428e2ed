/**
 * Activates the plan that the functions carry, once all of them do: a resource that changes exactly when the plan does. The admin
 * function answers CloudFormation itself, so a roll-back of the stack activates the plan before.
 *
 * Until then code of the new plan throws `HeldFault` and Lambda brings its batches again: nothing is lost in between.
 */
import { CfnCustomResource } from 'aws-cdk-lib';
import type { Construct, IDependable } from 'constructs';
import type { ActivationProperties } from '../functions/deployment-contract.ts';
import type { PipelineFunctions } from './pipeline-functions.ts';
import type { PipelineSettings } from './pipeline-settings.ts';

/** Longer than the admin function may take, so that its answer comes first. */
const ANSWER_SECONDS_MAX = 16 * 60;

export function planActivation(
  scope: Construct,
  { plan }: PipelineSettings,
  functions: PipelineFunctions,
  stores: readonly IDependable[],
): CfnCustomResource {
  const activation = new CfnCustomResource(scope, 'Activation', {
    serviceToken: functions.admin.functionArn,
    serviceTimeout: ANSWER_SECONDS_MAX,
  });
  const properties: ActivationProperties = { PlanHash: plan.hash };
  for (const [name, value] of Object.entries(properties)) {
    activation.addPropertyOverride(name, value);
  }
  activation.node.addDependency(functions, ...stores);
  return activation;
}
