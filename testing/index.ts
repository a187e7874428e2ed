/**
 * The front door of `tidemark/testing`: run a pipeline on records in memory, and find out what lateness, skew, dedupe and
 * faults cost it.
 */
export { type Delays, InvalidDelay } from './delays.ts';
export type { Finding, FindingKind } from './findings.ts';
export { InvalidPipeline, type PipelineInput } from './pipeline-plan.ts';
export { type PipelineAnswers, type RunOptions, runPipeline } from './run-pipeline.ts';
export { type SimulateOptions, simulate } from './simulate.ts';
export type { SimulationReport } from './simulation-report.ts';
export type { RecordInput } from './timed-records.ts';
