/**
 * The front door of the package: `import { pipeline, view, count } from 'tidemark'`.
 */
export { count, max, mean, min, pipeline, quantile, sum, tumbling, view } from './builder.ts';
export type {
  AggregateJson,
  Duration,
  PipelineJson,
  TimeJson,
  ViewJson,
  WindowJson,
} from './pipeline-json.ts';
