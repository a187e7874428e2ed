/**
 * This repository's own app: one stack for each pipeline and stage, by default of the example.
 */
import { App, type AppProps, Stack, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { loadPipeline } from './pipeline-file.ts';
import type { DeployTarget } from './pipeline-props.ts';
import { TidemarkPipeline } from './tidemark-pipeline.ts';

const EXAMPLE = 'examples/flights/tidemark.config.ts';

/** Stage, target and pipeline are of the context, as `-c` gives it. Throws what is wrong with them. */
export function repositoryApp(props: AppProps = {}): App {
  const app = new App(props);
  const stage = contextOf(app, 'stage', ['dev', 'prod']);
  const target: DeployTarget = contextOf(app, 'target', ['aws', 'emulator']);
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
  return app;
}

/** The value of `-c name=…`, by default the first that it may have. */
function contextOf<Value extends string>(
  app: App,
  name: string,
  values: readonly [Value, ...Value[]],
): Value {
  const given: unknown = app.node.tryGetContext(name) ?? values[0];
  const value = values.find((one) => one === given);
  if (value !== undefined) return value;
  throw new Error(`-c ${name}=${String(given)}: expected ${values.join(' or ')}`);
}
