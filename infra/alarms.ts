/**
 * Alarms, and the topic that they go to. docs/operations.md says what to do at each. `HeldFault` counts in none: it passes with
 * the deploy that causes it, and if it does not, `Behind` and `CheckpointAge` tell.
 *
 * What each must stand, and a test feeds it with (test/infra/alarm-states.test.ts, ADR 0022):
 * - Lambda stamps a metric by the start of its invocation and has it at the end, so an alarm looks back further than an invocation
 *   may take; and one invocation after the other, each as long as it may be, gives a point in few of its periods.
 * - Periods slide by the minute: what lasts a minute may lie in two of them, and must not ring where going on is meant.
 * - Where the series ends with what it watches, the state stays as it was (`ignore`).
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
  /** The alarm rings at this or more (`below`: at less), in `periods` of the last `among`, which is as many unless given. */
  readonly threshold: number;
  readonly isBelow?: boolean;
  readonly periods: number;
  readonly among?: number;
  /** Missing data leave the state as it is; otherwise they are well. */
  readonly keepsState?: boolean;
  /** Its series exists on AWS only. */
  readonly isOfAws?: boolean;
}

const PERIOD_MS = metrics.PERIOD.toMilliseconds();
/** What goes on for longer than five minutes lies in so many periods, wherever they begin. */
const GOES_ON = 3;
const GOES_ON_AMONG = 5;

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
      .filter(
        ({ metric, isOfAws }) =>
          target === 'aws' || !(isOfAws === true || metric instanceof MathExpression),
      )
      .map(({ id, what, metric, threshold, periods, among = periods, ...spec }) => {
        const alarm = new Alarm(this, id, {
          ...explicitName(settings, 'alarmName', id.toLowerCase()),
          alarmDescription: `Tidemark ${plan.name}: ${what} What to do: docs/operations.md, "${id}".`,
          metric,
          threshold,
          evaluationPeriods: among,
          datapointsToAlarm: periods,
          comparisonOperator: spec.isBelow
            ? ComparisonOperator.LESS_THAN_THRESHOLD
            : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
          treatMissingData: spec.keepsState
            ? TreatMissingData.IGNORE
            : TreatMissingData.NOT_BREACHING,
        });
        alarm.addAlarmAction(action);
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
      periods: 2,
      // Two invocations, the later of which is known when it has ended.
      among: 2 * periodsOf(aggregateTimeout) + 2,
      keepsState: true,
    },
    {
      id: 'CheckpointAge',
      what: 'a record of some shard has waited for a checkpoint for ten minutes.',
      // Of each of five minutes: one look that failed is no age.
      metric: metrics.ownMetric(serviceName, 'checkpointAgeMs', Stats.MINIMUM),
      threshold: CHECKPOINT_AGE_MS_MAX,
      periods: 1,
      keepsState: true,
    },
    {
      id: 'SlicesUnknown',
      what: 'for a quarter of an hour it was unknown whether records of some shard wait.',
      metric: metrics.ownMetric(serviceName, 'slicesUnknown', Stats.MINIMUM),
      threshold: 1,
      periods: 3,
      keepsState: true,
    },
    {
      id: 'NearTimeOut',
      what: 'an invocation took over 80 % of the time that it may take.',
      metric: functions.aggregate.metricDuration({
        statistic: Stats.MAXIMUM,
        period: metrics.PERIOD,
      }),
      threshold: DURATION_SHARE_MAX * aggregateTimeout.toMilliseconds(),
      periods: 1,
      // Its point lies where the invocation began.
      among: periodsOf(aggregateTimeout) + 1,
    },
    {
      id: 'TickMissing',
      what: 'no tick looks after the slices any more.',
      metric: metrics.ticks(serviceName),
      threshold: 1,
      isBelow: true,
      periods: 3,
      among: 4,
      keepsState: true,
    },
  ];
}

/** How many periods an invocation may take. */
function periodsOf(timeout: Duration): number {
  return Math.ceil(timeout.toMilliseconds() / PERIOD_MS);
}

function failureAlarms(
  { serviceName: name, aggregateTimeout }: PipelineSettings,
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
      periods: GOES_ON,
      // So many that each take as long as they may, and a while between them.
      among: GOES_ON * periodsOf(aggregateTimeout) + 2,
    },
    {
      id: 'OtherFaults',
      what: 'query, admin, tick or heartbeat cannot do what they should, and go on failing.',
      metric: metrics.ownMetric(name, 'otherFaults', Stats.SUM),
      threshold: 1,
      periods: GOES_ON,
      among: GOES_ON_AMONG,
    },
    {
      id: 'FunctionErrors',
      what: 'invocations of query, admin, tick or heartbeat end without an answer.',
      metric: metrics.otherErrors(functions),
      threshold: 1,
      periods: GOES_ON,
      among: GOES_ON_AMONG,
    },
    {
      id: 'Deaths',
      what: 'invocations of the aggregate function are killed: out of memory or of time.',
      metric: metrics.deaths(name, deathsPeriod(aggregateTimeout)),
      threshold: DEATHS_MIN,
      periods: 1,
      isOfAws: true,
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
      // SQS sends no metrics of a queue that was idle for six hours.
      keepsState: true,
    },
  ];
}

/** Long enough for two invocations that each run out of time. */
function deathsPeriod(aggregateTimeout: Duration): Duration {
  const minutes = 2 * Math.ceil(aggregateTimeout.toMinutes({ integral: false }));
  return Duration.minutes(Math.max(15, minutes + 5));
}

function throttleAlarms({ stream, functions }: Watched): AlarmSpec[] {
  return [
    {
      id: 'Throttles',
      what: 'Lambda refuses invocations of the aggregate function: there is no concurrency left.',
      metric: functions.aggregate.metricThrottles({
        statistic: Stats.SUM,
        period: metrics.PERIOD,
      }),
      threshold: 1,
      periods: GOES_ON,
      among: GOES_ON_AMONG,
    },
    {
      id: 'WriteThrottles',
      what: 'Kinesis refuses records of producers.',
      metric: metrics.streamMetric(stream, 'WriteProvisionedThroughputExceeded', Stats.SUM),
      threshold: 1,
      periods: GOES_ON,
      among: GOES_ON_AMONG,
    },
    {
      id: 'ReadThrottles',
      what: 'Kinesis refuses reads: too many readers share a shard.',
      metric: metrics.streamMetric(stream, 'ReadProvisionedThroughputExceeded', Stats.SUM),
      threshold: 1,
      periods: GOES_ON,
      among: GOES_ON_AMONG,
    },
  ];
}
