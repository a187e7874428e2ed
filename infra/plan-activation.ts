/**
 * Activates the plan that the functions carry, once all of them do: a resource that changes when the plan or the table does. The admin
 * function answers CloudFormation itself, so a roll-back of the stack activates the plan before.
 *
 * Until then code of the new plan throws `HeldFault` and Lambda brings its batches again: nothing is lost in between.
 *
 * It goes after mapping and schedules and before functions and stores; so it is where a bucket is emptied that goes too.
 */
import { CfnCustomResource } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { ActivationProperties } from '../functions/deployment-contract.ts';
import type { PipelineFunctions } from './pipeline-functions.ts';
import type { PipelineSettings } from './pipeline-settings.ts';
import type { PipelineResources } from './resource-arns.ts';

/** Longer than the admin function may take, so that its answer comes first. */
const ANSWER_SECONDS_MAX = 16 * 60;

export function planActivation(
  scope: Construct,
  { plan, isBucketEmptied }: PipelineSettings,
  functions: PipelineFunctions,
  { table, bucket, stream }: PipelineResources,
): CfnCustomResource {
  const activation = new CfnCustomResource(scope, 'Activation', {
    serviceToken: functions.admin.functionArn,
    serviceTimeout: ANSWER_SECONDS_MAX,
  });
  const properties: ActivationProperties = {
    PlanHash: plan.hash,
    OnDelete: isBucketEmptied ? 'empty' : 'keep',
  };
  for (const [name, value] of Object.entries(properties)) {
    activation.addPropertyOverride(name, value);
  }
  // A restored table may hold an older plan: to CloudFormation the resource changes with it.
  activation.addPropertyOverride('Table', table.tableName);
  activation.node.addDependency(functions, table, bucket, stream);
  return activation;
}
