/**
 * The metrics that alarms and dashboard show, each made in one place.
 */
import { Duration, type Stack } from 'aws-cdk-lib';
import { MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { IStream } from 'aws-cdk-lib/aws-kinesis';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { METRIC, METRIC_NAMESPACE, PIPELINE_DIMENSION } from '../functions/deployment-contract.ts';
import type { PipelineFunctions } from './pipeline-functions.ts';

/** Of most alarms. */
export const PERIOD = Duration.minutes(5);

/** A metric of the functions' own. */
export function ownMetric(
  pipeline: string,
  name: keyof typeof METRIC,
  statistic: string,
  period = PERIOD,
): Metric {
  return new Metric({
    namespace: METRIC_NAMESPACE,
    metricName: METRIC[name],
    dimensionsMap: { [PIPELINE_DIMENSION]: pipeline },
    statistic,
    period,
  });
}

/** Age of the last record of a batch when Lambda hands it over: also right when no invocation succeeds. */
export function iteratorAge(aggregate: IFunction): Metric {
  return aggregate.metric('IteratorAge', { statistic: Stats.MAXIMUM, period: PERIOD });
}

/**
 * Ticks that there were, 0 where they have ended. Before the first there is nothing: 0 times a number that is missing is missing.
 */
export function ticks(pipeline: string): MathExpression {
  return new MathExpression({
    label: 'Ticks',
    expression: 'FILL(ticks, 0) + 0 * FILL(ticks, REPEAT)',
    usingMetrics: { ticks: ownMetric(pipeline, 'slices', Stats.SAMPLE_COUNT) },
    period: PERIOD,
  });
}

/** Of a pipeline's own, as a metric that is made of a log has no fixed dimension. */
export function deathsName(pipeline: string): string {
  return `Deaths-${pipeline}`;
}

/** Environments of the aggregate function that Lambda killed, by its log. */
export function deaths(pipeline: string, period: Duration): Metric {
  return new Metric({
    namespace: METRIC_NAMESPACE,
    metricName: deathsName(pipeline),
    statistic: Stats.SUM,
    period,
  });
}

/** What Lambda counts of those beside the aggregate function: also when they cannot say it themselves. */
export function otherErrors({ query, admin, tick, heartbeat }: PipelineFunctions) {
  const all = { query, admin, tick, ...(heartbeat === null ? {} : { heartbeat }) };
  const errors = Object.entries(all).map(([name, made]) => [
    name,
    made.metricErrors({ statistic: Stats.SUM, period: PERIOD }),
  ]);
  return new MathExpression({
    label: 'Errors of the other functions',
    // One that was not invoked has no data.
    expression: `SUM([${Object.keys(all)
      .map((name) => `FILL(${name}, 0)`)
      .join(', ')}])`,
    usingMetrics: Object.fromEntries(errors),
    period: PERIOD,
  });
}

/** A quiet pipeline commits now and then, and finds its environment gone each time: that costs nothing. */
const COMMITS_MIN = 50;

/** Restores for each hundred commits, where there are enough of them to speak of a rate. */
export function restoreRate(pipeline: string, period: Duration) {
  return new MathExpression({
    label: 'Restores for each hundred commits',
    expression: `IF(commits >= ${COMMITS_MIN}, 100 * FILL(restores, 0) / commits, 0)`,
    usingMetrics: {
      restores: ownMetric(pipeline, 'restores', Stats.SUM, period),
      commits: ownMetric(pipeline, 'commits', Stats.SUM, period),
    },
    period,
  });
}

export function streamMetric(stream: IStream, metricName: string, statistic: string): Metric {
  return new Metric({
    namespace: 'AWS/Kinesis',
    metricName,
    dimensionsMap: { StreamName: stream.streamName },
    statistic,
    period: PERIOD,
  });
}

export function messagesIn(queue: IQueue): Metric {
  return queue.metricApproximateNumberOfMessagesVisible({
    statistic: Stats.MAXIMUM,
    period: PERIOD,
  });
}

/** In a browser. */
export function dashboardUrl(stack: Stack, name: string): string {
  return `https://${stack.region}.console.aws.amazon.com/cloudwatch/home?region=${stack.region}#dashboards/dashboard/${name}`;
}
