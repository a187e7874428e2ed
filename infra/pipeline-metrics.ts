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

const PERIOD = Duration.minutes(5);

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
  return aggregate.metric('IteratorAge', { statistic: Stats.MAXIMUM, period: Duration.minutes(1) });
}

/** Invocations that ended without an answer: killed for memory or time, or never started. */
export function deaths(pipeline: string, { aggregate }: PipelineFunctions, period: Duration) {
  return new MathExpression({
    label: 'Deaths',
    expression: 'errors - FILL(faults, 0) - FILL(held, 0)',
    usingMetrics: {
      errors: aggregate.metricErrors({ statistic: Stats.SUM, period }),
      faults: ownMetric(pipeline, 'faults', Stats.SUM, period),
      held: ownMetric(pipeline, 'held', Stats.SUM, period),
    },
    period,
  });
}

/** Restores for each hundred flips. */
export function restoreRate(pipeline: string, period: Duration) {
  return new MathExpression({
    label: 'Restores for each hundred flips',
    expression: 'IF(flips > 0, 100 * restores / flips, 0)',
    usingMetrics: {
      restores: ownMetric(pipeline, 'restores', Stats.SUM, period),
      flips: ownMetric(pipeline, 'flips', Stats.SUM, period),
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
