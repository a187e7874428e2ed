/**
 * Alarms, and the topic that they go to. docs/operations.md says what to do at each. `HeldFault` counts in none: it passes with
 * the deploy that causes it, and if it does not, `Behind` and `CheckpointAge` tell.
 *
 * The topic is not encrypted: CloudWatch cannot publish to one with the key that AWS manages, and an alarm's text holds no data.
 */
import { Aws, Duration } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IStream } from 'aws-cdk-lib/aws-kinesis';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { explicitName } from './emulator-target.ts';
import type { PipelineFunctions } from './pipeline-functions.ts';
import * as metrics from './pipeline-metrics.ts';
import type { PipelineSettings } from './pipeline-settings.ts';

const BEHIND_MS_MAX = 5 * 60_000;
const CHECKPOINT_AGE_MS_MAX = 10 * 60_000;
/** Environments come and go, and each begins with a restore; more than this is churn. */
const RESTORES_PERCENT_MAX = 20;
/** One death heals by itself; the same record again is what kills. */
const DEATHS_MIN = 2;
const DURATION_SHARE_MAX = 0.8;

export interface Watched {
  readonly stream: IStream;
  readonly functions: PipelineFunctions;
  readonly onFailure: IQueue;
}

interface AlarmSpec {
  readonly id: string;
  readonly what: string;
  readonly metric: IMetric;
  /** The alarm rings at this or more, in each of `periods`. */
  readonly threshold: number;
  readonly periods: number;
  /** It tells when there is no data any more, and not when there is none yet: at a first deploy there cannot be. */
  readonly isOfSilence?: boolean;
}

export class PipelineAlarms extends Construct {
  readonly topic: ITopic;
  readonly alarms: readonly Alarm[];

  constructor(
    scope: Construct,
    settings: PipelineSettings,
    watched: Watched,
    givenTopic: ITopic | undefined,
  ) {
    super(scope, 'Alarms');
    const { plan, target } = settings;
    this.topic = givenTopic ?? alarmTopic(this, settings);
    const action = new SnsAction(this.topic);
    this.alarms = alarmSpecs(settings, watched)
      // Emulators have no metric math.
      .filter(({ metric }) => target === 'aws' || !(metric instanceof MathExpression))
      .map(({ id, what, metric, threshold, periods, isOfSilence = false }) => {
        const alarm = new Alarm(this, id, {
          ...explicitName(settings, 'alarmName', id.toLowerCase()),
          alarmDescription: `Tidemark ${plan.name}: ${what} What to do: docs/operations.md, "${id}".`,
          metric,
          threshold,
          evaluationPeriods: periods,
          comparisonOperator: isOfSilence
            ? ComparisonOperator.LESS_THAN_THRESHOLD
            : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
          treatMissingData: isOfSilence ? TreatMissingData.MISSING : TreatMissingData.NOT_BREACHING,
        });
        alarm.addAlarmAction(action);
        // A new alarm is in that state: only a change to it tells.
        if (isOfSilence) alarm.addInsufficientDataAction(action);
        alarm.addOkAction(action);
        return alarm;
      });
  }
}

function alarmTopic(scope: Construct, settings: PipelineSettings): Topic {
  const topic = new Topic(scope, 'Topic', {
    ...explicitName(settings, 'topicName', 'alarms'),
    enforceSSL: true,
  });
  // A policy of its own takes the place of the one that admits the account's alarms.
  topic.addToResourcePolicy(
    new PolicyStatement({
      sid: 'AlarmsOfThisAccount',
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: ['sns:Publish'],
      resources: [topic.topicArn],
      conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } },
    }),
  );
  return topic;
}

function alarmSpecs(settings: PipelineSettings, watched: Watched): AlarmSpec[] {
  return [
    ...freshnessAlarms(settings, watched),
    ...failureAlarms(settings, watched),
    ...throttleAlarms(watched),
  ];
}

function freshnessAlarms(
  { serviceName, aggregateTimeout }: PipelineSettings,
  { functions }: Watched,
): AlarmSpec[] {
  return [
    {
      id: 'Behind',
      what: 'records wait for more than five minutes.',
      metric: metrics.iteratorAge(functions.aggregate),
      threshold: BEHIND_MS_MAX,
      periods: 3,
    },
    {
      id: 'CheckpointAge',
      what: 'a record of some shard has waited for a checkpoint for ten minutes.',
      metric: metrics.ownMetric(serviceName, 'checkpointAgeMs', Stats.MAXIMUM),
      threshold: CHECKPOINT_AGE_MS_MAX,
      periods: 1,
    },
    {
      id: 'NearTimeOut',
      what: 'an invocation took over 80 % of the time that it may take.',
      metric: functions.aggregate.metricDuration({
        statistic: Stats.MAXIMUM,
        period: Duration.minutes(5),
      }),
      threshold: DURATION_SHARE_MAX * aggregateTimeout.toMilliseconds(),
      periods: 1,
    },
    {
      id: 'TickMissing',
      what: 'no tick looks after the slices any more (the state is INSUFFICIENT_DATA then).',
      metric: metrics.ownMetric(serviceName, 'slices', Stats.SAMPLE_COUNT),
      threshold: 1,
      periods: 3,
      isOfSilence: true,
    },
  ];
}

function failureAlarms(
  { serviceName: name }: PipelineSettings,
  { functions, onFailure }: Watched,
): AlarmSpec[] {
  return [
    {
      id: 'Quarantine',
      what: 'records could not be processed and lie in quarantine.',
      metric: metrics.ownMetric(name, 'recordsQuarantined', Stats.SUM),
      threshold: 1,
      periods: 1,
    },
    {
      id: 'Faults',
      what: 'invocations of the aggregate function fail, and go on failing.',
      metric: metrics.ownMetric(name, 'faults', Stats.SUM),
      threshold: 1,
      periods: 2,
    },
    {
      id: 'OtherFaults',
      what: 'query, admin, tick or heartbeat cannot do what they should, and go on failing.',
      metric: metrics.ownMetric(name, 'otherFaults', Stats.SUM),
      threshold: 1,
      periods: 2,
    },
    {
      id: 'FunctionErrors',
      what: 'invocations of query, admin, tick or heartbeat end without an answer.',
      metric: metrics.otherErrors(functions),
      threshold: 1,
      periods: 2,
    },
    {
      id: 'Deaths',
      what: 'invocations of the aggregate function are killed: out of memory or of time.',
      metric: metrics.deaths(name, functions, Duration.minutes(15)),
      threshold: DEATHS_MIN,
      periods: 1,
    },
    {
      id: 'RestoreRate',
      what: 'environments restore state again and again.',
      metric: metrics.restoreRate(name, Duration.minutes(15)),
      threshold: RESTORES_PERCENT_MAX,
      periods: 2,
    },
    {
      id: 'GapsPossible',
      what: 'records may have expired before anything could look at them.',
      metric: metrics.ownMetric(name, 'gapsPossible', Stats.SUM),
      threshold: 1,
      periods: 1,
    },
    {
      id: 'OnFailure',
      what: 'records expired before they were folded: there is a gap.',
      metric: metrics.messagesIn(onFailure),
      threshold: 1,
      periods: 1,
    },
  ];
}

function throttleAlarms({ stream, functions }: Watched): AlarmSpec[] {
  return [
    {
      id: 'Throttles',
      what: 'Lambda refuses invocations of the aggregate function: there is no concurrency left.',
      metric: functions.aggregate.metricThrottles({
        statistic: Stats.SUM,
        period: Duration.minutes(5),
      }),
      threshold: 1,
      periods: 2,
    },
    {
      id: 'WriteThrottles',
      what: 'Kinesis refuses records of producers.',
      metric: metrics.streamMetric(stream, 'WriteProvisionedThroughputExceeded', Stats.SUM),
      threshold: 1,
      periods: 2,
    },
    {
      id: 'ReadThrottles',
      what: 'Kinesis refuses reads: too many readers share a shard.',
      metric: metrics.streamMetric(stream, 'ReadProvisionedThroughputExceeded', Stats.SUM),
      threshold: 1,
      periods: 3,
    },
  ];
}
