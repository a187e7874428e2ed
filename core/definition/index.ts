/**
 * The front door of the package: `import { pipeline, view, count } from 'tidemark'`.
 */
export { pipeline, view } from './builder.ts';
export type { Duration } from './duration.ts';
export type { AggregateJson } from './kinds/aggregate-kinds.ts';
export { count } from './kinds/count.ts';
export { max } from './kinds/max.ts';
export { mean } from './kinds/mean.ts';
export { min } from './kinds/min.ts';
export { quantile } from './kinds/quantile.ts';
export { sum } from './kinds/sum.ts';
export { tumbling } from './kinds/tumbling.ts';
export type { WindowJson } from './kinds/window-kinds.ts';
export type { PipelineJson, TimeJson, ViewJson } from './pipeline-json.ts';
