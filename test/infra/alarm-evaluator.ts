/**
 * A small CloudWatch: the state of an alarm of the template over metric points, as its documentation describes it
 * ("Configuring how CloudWatch alarms treat missing data", "Alarm evaluation", "Using math expressions").
 *
 * - Once a minute, periods are laid back from that minute, and a few more of them are looked at than the alarm asks for.
 * - A point counts in the period of its stamp, from when CloudWatch has it: Lambda stamps by the start of an invocation, which is
 *   known at its end.
 */
import { evaluateExpression, type Series } from './metric-math.ts';

export type AlarmState = 'OK' | 'ALARM' | 'INSUFFICIENT_DATA';
type Treatment = 'missing' | 'ignore' | 'breaching' | 'notBreaching';

export interface Point {
  readonly atMs: number;
  readonly value: number;
  /** When CloudWatch has it. */
  readonly knownMs: number;
}

/** By `Namespace/MetricName`. */
export type Points = Readonly<Record<string, readonly Point[]>>;

interface MetricStat {
  readonly Metric: { readonly Namespace: string; readonly MetricName: string };
  readonly Period: number;
  readonly Stat: string;
}

interface MetricQuery {
  readonly Id: string;
  readonly Expression?: string;
  readonly MetricStat?: MetricStat;
  readonly ReturnData?: boolean;
}

/** As a template has it. */
export interface AlarmProperties {
  readonly Namespace?: string;
  readonly MetricName?: string;
  readonly Statistic?: string;
  readonly Period?: number;
  readonly Metrics?: readonly MetricQuery[];
  readonly Threshold: number;
  readonly ComparisonOperator: string;
  readonly EvaluationPeriods: number;
  readonly DatapointsToAlarm?: number;
  readonly TreatMissingData?: Treatment;
}

const MINUTE_MS = 60_000;

/** The states, minute by minute, of an alarm that is made at `fromMs`. `extra`: how many more periods are looked at. */
export function alarmStates(
  alarm: AlarmProperties,
  points: Points,
  { fromMs, toMs, extra = 2 }: { fromMs: number; toMs: number; extra?: number },
): AlarmState[] {
  const states: AlarmState[] = [];
  let state: AlarmState = 'INSUFFICIENT_DATA';
  for (let nowMs = fromMs; nowMs <= toMs; nowMs += MINUTE_MS) {
    const values = dataOf(alarm, points, nowMs, alarm.EvaluationPeriods + extra);
    state = judge(alarm, values, state);
    states.push(state);
  }
  return states;
}

/** What the alarm is after `values`, the oldest first; null is missing. */
export function judge(
  alarm: Omit<AlarmProperties, 'Metrics'>,
  values: Series,
  before: AlarmState,
): AlarmState {
  const { EvaluationPeriods: periods, DatapointsToAlarm: least = periods } = alarm;
  const treatment = alarm.TreatMissingData ?? 'missing';
  const real = values.filter((value) => value !== null);
  const evaluated = real.slice(-periods).filter((value) => isBreaching(alarm, value));
  if (real.length >= periods) return evaluated.length >= least ? 'ALARM' : 'OK';
  if (treatment === 'notBreaching') return evaluated.length >= least ? 'ALARM' : 'OK';
  if (treatment === 'breaching') {
    return evaluated.length + (periods - real.length) >= least ? 'ALARM' : 'OK';
  }
  if (evaluated.length >= least) return 'ALARM';
  // Something else than breaches was seen.
  if (evaluated.length < real.length) return 'OK';
  if (treatment === 'ignore') return before;
  if (real.length === 0) return 'INSUFFICIENT_DATA';
  const oldest = values.length - values.findIndex((value) => value !== null);
  return oldest >= least ? 'ALARM' : before;
}

function isBreaching({ ComparisonOperator: operator, Threshold }: AlarmProperties, value: number) {
  switch (operator) {
    case 'GreaterThanOrEqualToThreshold':
      return value >= Threshold;
    case 'GreaterThanThreshold':
      return value > Threshold;
    case 'LessThanThreshold':
      return value < Threshold;
    case 'LessThanOrEqualToThreshold':
      return value <= Threshold;
    default:
      throw new Error(`CloudWatch has no operator ${operator}`);
  }
}

function dataOf(alarm: AlarmProperties, points: Points, nowMs: number, count: number): Series {
  const { Metrics, Namespace = '', MetricName = '', Statistic = '', Period = 0 } = alarm;
  if (Metrics === undefined) {
    const stat = { Metric: { Namespace, MetricName }, Period, Stat: Statistic };
    return seriesOf(stat, points, nowMs, count);
  }
  const series = new Map<string, Series>();
  for (const { Id, MetricStat } of Metrics) {
    if (MetricStat !== undefined) series.set(Id, seriesOf(MetricStat, points, nowMs, count));
  }
  const shown = Metrics.filter(({ Expression, ReturnData }) => Expression && ReturnData !== false);
  const [expression, ...others] = shown;
  if (expression?.Expression === undefined || others.length > 0) {
    throw new Error('an alarm looks at one expression');
  }
  return evaluateExpression(expression.Expression, series, count);
}

function seriesOf(stat: MetricStat, points: Points, nowMs: number, count: number): Series {
  const { Metric, Period, Stat } = stat;
  const known = (points[`${Metric.Namespace}/${Metric.MetricName}`] ?? []).filter(
    ({ knownMs }) => knownMs <= nowMs,
  );
  const periodMs = Period * 1_000;
  return Array.from({ length: count }, (_, index) => {
    const endMs = nowMs - (count - 1 - index) * periodMs;
    const inside = known.filter(({ atMs }) => atMs >= endMs - periodMs && atMs < endMs);
    return inside.length === 0
      ? null
      : statistic(
          Stat,
          inside.map(({ value }) => value),
        );
  });
}

function statistic(name: string, values: readonly number[]): number {
  switch (name) {
    case 'Sum':
      return values.reduce((sum, value) => sum + value, 0);
    case 'SampleCount':
      return values.length;
    case 'Maximum':
      return Math.max(...values);
    case 'Minimum':
      return Math.min(...values);
    default:
      throw new Error(`the statistic ${name} is not evaluated here`);
  }
}
