/**
 * Counts the environments of the aggregate function that Lambda killed, for memory or for time, or that could not start: by what
 * Lambda itself writes into the log, at that moment. Its count of errors holds faults too, which the function counts at another
 * time than Lambda: their difference is no number of deaths.
 */
import { FilterPattern, type ILogGroup, MetricFilter } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { METRIC_NAMESPACE } from '../functions/deployment-contract.ts';
import { deathsName } from './pipeline-metrics.ts';
import type { PipelineSettings } from './pipeline-settings.ts';

/** Of time, and of anything else: `Runtime exited with error: signal: killed`. */
export const DEATH_TERMS = ['Task timed out after', 'Runtime exited'] as const;

export function deathCount(
  scope: Construct,
  { serviceName, target }: PipelineSettings,
  logGroup: ILogGroup,
): void {
  if (target === 'emulator') return;
  new MetricFilter(scope, 'DeathCount', {
    logGroup,
    filterPattern: FilterPattern.anyTerm(...DEATH_TERMS),
    metricNamespace: METRIC_NAMESPACE,
    metricName: deathsName(serviceName),
    metricValue: '1',
    defaultValue: 0,
  });
}
