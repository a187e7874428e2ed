/**
 * One page that answers: is it fresh, what does it do, what is wrong.
 */
import { Duration } from 'aws-cdk-lib';
import {
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  Stats,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { METRIC } from '../functions/deployment-contract.ts';
import type { PipelineAlarms, Watched } from './alarms.ts';
import { explicitName } from './emulator-target.ts';
import * as metrics from './pipeline-metrics.ts';
import type { PipelineSettings } from './pipeline-settings.ts';

const HALF = 12;
const WHOLE = 24;

export function pipelineDashboard(
  scope: Construct,
  settings: PipelineSettings,
  watched: Watched,
  { alarms }: PipelineAlarms,
): Dashboard {
  return new Dashboard(scope, 'Dashboard', {
    ...explicitName(settings, 'dashboardName', 'dashboard'),
    defaultInterval: Duration.hours(3),
    widgets: [
      [new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: WHOLE })],
      ...graphs(settings, watched),
    ],
  });
}

function graphs(
  { serviceName }: PipelineSettings,
  { stream, functions, onFailure }: Watched,
): IWidget[][] {
  const { aggregate } = functions;
  const own = (names: (keyof typeof METRIC)[], statistic: string) =>
    names.map((name) => metrics.ownMetric(serviceName, name, statistic));
  const fold = ['recordsFolded', 'recordsReplayed', 'recordsLate', 'recordsQuarantined'] as const;
  return [
    [
      graph('Freshness, ms', [
        metrics.iteratorAge(aggregate),
        ...own(['behindMs', 'checkpointAgeMs'], Stats.MAXIMUM),
      ]),
      graph('Records', own([...fold], Stats.SUM)),
    ],
    [
      graph(
        'Commits',
        own(['commits', 'commitsRefused', 'restores', 'held', 'faults', 'otherFaults'], Stats.SUM),
      ),
      graph('Checkpoints and state, bytes', [
        ...own(['checkpointBytes'], Stats.SUM),
        ...own(['stateBytes'], Stats.MAXIMUM),
      ]),
    ],
    [
      graph('Aggregate function', [
        aggregate.metricInvocations(),
        aggregate.metricErrors(),
        aggregate.metricDuration({ statistic: Stats.percentile(99) }),
      ]),
      graph('Slices', own(['slices', 'slicesNotOpen', 'slicesUnknown'], Stats.MAXIMUM)),
    ],
    [
      graph('Stream', [
        metrics.streamMetric(stream, 'IncomingRecords', Stats.SUM),
        metrics.streamMetric(stream, 'WriteProvisionedThroughputExceeded', Stats.SUM),
        metrics.streamMetric(stream, 'ReadProvisionedThroughputExceeded', Stats.SUM),
      ]),
      graph('Expired records', [metrics.messagesIn(onFailure)]),
    ],
  ];
}

function graph(title: string, left: IMetric[]): GraphWidget {
  return new GraphWidget({ title, left, width: HALF });
}
