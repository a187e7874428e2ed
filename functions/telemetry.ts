/**
 * What functions tell of themselves: structured log lines, and metrics in CloudWatch's embedded format, which cost a log line
 * and no call. The pipeline is the only dimension; which slice it was stands in the log.
 */
import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { METRIC_NAMESPACE } from './deployment-contract.ts';

export interface Telemetry {
  info(message: string, details: object): void;
  /** Says what was thrown, and what a person can do about it. */
  failure(message: string, error: unknown, details: object): void;
  count(metric: string, value: number): void;
  milliseconds(metric: string, value: number): void;
  bytes(metric: string, value: number): void;
  /** Writes what was measured since the last time. */
  publish(): void;
}

export function createTelemetry(pipeline: string): Telemetry {
  const logger = new Logger({ serviceName: pipeline });
  const metrics = new Metrics({ namespace: METRIC_NAMESPACE, serviceName: pipeline });
  return {
    info: (message, details) => logger.info(message, { ...details }),
    failure: (message, error, details) => {
      const hint = error instanceof Error && 'hint' in error ? { hint: error.hint } : {};
      logger.error(message, { ...details, ...hint, error: asError(error) });
    },
    count: (metric, value) => metrics.addMetric(metric, MetricUnit.Count, value),
    milliseconds: (metric, value) => metrics.addMetric(metric, MetricUnit.Milliseconds, value),
    bytes: (metric, value) => metrics.addMetric(metric, MetricUnit.Bytes, value),
    publish: () => metrics.publishStoredMetrics(),
  };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
