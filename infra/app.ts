/**
 * This repository's own app: one stack for each pipeline and stage, by default of the example.
 *
 *   npx cdk deploy                             stage dev
 *   npx cdk deploy -c stage=prod               keeps stream, table, bucket and logs
 *   npx cdk deploy -c pipeline=FILE            another pipeline, in a stack of its own
 *   npx cdk deploy -c target=emulator          LocalStack and its like, with AWS_ENDPOINT_URL in the environment
 */
import { App, Stack, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { loadPipeline } from './pipeline-file.ts';
import type { DeployTarget } from './pipeline-props.ts';
import { TidemarkPipeline } from './tidemark-pipeline.ts';

const EXAMPLE = 'examples/flights/tidemark.config.ts';

const app = new App();
const stage = contextOf('stage', ['dev', 'prod']);
const target: DeployTarget = contextOf('target', ['aws', 'emulator']);
const pipeline: string = app.node.tryGetContext('pipeline') ?? EXAMPLE;
const { name } = loadPipeline(pipeline).plan;

const stack = new Stack(app, `tidemark-${name.replaceAll(/[^A-Za-z0-9]+/g, '-')}-${stage}`, {
  description: `Tidemark ${name}, stage ${stage}`,
  terminationProtection: stage === 'prod' && target === 'aws',
});
new TidemarkPipeline(stack, 'Pipeline', {
  pipeline,
  stage,
  target,
});
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));

/** The value of `-c name=…`, by default the first that it may have. */
function contextOf<Value extends string>(
  name: string,
  values: readonly [Value, ...Value[]],
): Value {
  const given: unknown = app.node.tryGetContext(name) ?? values[0];
  const value = values.find((one) => one === given);
  if (value !== undefined) return value;
  throw new Error(`-c ${name}=${String(given)}: expected ${values.join(' or ')}`);
}
