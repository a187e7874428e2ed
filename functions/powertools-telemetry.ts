/**
 * Structured log lines, and metrics in CloudWatch's embedded format, which cost a log line and no call.
 */
import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { METRIC_NAMESPACE } from './deployment-contract.ts';
import type { Telemetry } from './telemetry.ts';

export function createTelemetry(pipeline: string): Telemetry {
  const logger = new Logger({ serviceName: pipeline });
  const metrics = new Metrics({ namespace: METRIC_NAMESPACE, serviceName: pipeline });
  let requestId = '';
  return {
    follow: ({ awsRequestId = '' }) => {
      requestId = awsRequestId;
      logger.appendKeys({ requestId });
    },
    info: (message, details) => logger.info(message, { ...details }),
    failure: (message, error, details) => {
      const hint = error instanceof Error && 'hint' in error ? { hint: error.hint } : {};
      logger.error(message, { ...details, ...hint, error: asError(error) });
    },
    count: (metric, value) => metrics.addMetric(metric, MetricUnit.Count, value),
    milliseconds: (metric, value) => metrics.addMetric(metric, MetricUnit.Milliseconds, value),
    bytes: (metric, value) => metrics.addMetric(metric, MetricUnit.Bytes, value),
    publish: () => {
      if (!metrics.hasStoredMetrics()) return;
      metrics.addMetadata('requestId', requestId);
      metrics.publishStoredMetrics();
    },
  };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
