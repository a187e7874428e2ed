/**
 * The front door of `tidemark/cdk`: a pipeline in your own CDK stack.
 */
export type { TidemarkPipelineProps } from './pipeline-props.ts';
export { TidemarkPipeline } from './tidemark-pipeline.ts';
