import { describe, expect, it } from 'vitest';
import { type AlarmProperties, alarmStates, judge } from './alarm-evaluator.ts';
import { evaluateExpression, type Series } from './metric-math.ts';

const TREATMENTS = ['missing', 'ignore', 'breaching', 'notBreaching'] as const;

const alarm: AlarmProperties = {
  Namespace: 'N',
  MetricName: 'M',
  Statistic: 'Maximum',
  Period: 300,
  Threshold: 1,
  ComparisonOperator: 'GreaterThanOrEqualToThreshold',
  EvaluationPeriods: 3,
};

/** `0` within the threshold, `X` beyond it, `-` missing; the oldest first. */
const valuesOf = (text: string): Series =>
  text.split(' ').map((each) => (each === '-' ? null : each === 'X' ? 1 : 0));

/** The state that an alarm in ALARM and one in OK come to; the same unless it is retained. */
function statesOf(text: string, least: number): string[] {
  return TREATMENTS.map((treatment) => {
    const settings = { ...alarm, DatapointsToAlarm: least, TreatMissingData: treatment };
    const after = (['ALARM', 'OK'] as const).map((state) => judge(settings, valuesOf(text), state));
    return after[0] === 'ALARM' && after[1] === 'OK' ? 'retained' : [...new Set(after)].join();
  });
}

describe('an alarm whose data are missing is as CloudWatch documents it', () => {
  it.each([
    ['0 - X - X', ['OK', 'OK', 'OK', 'OK']],
    ['0 - - - -', ['OK', 'OK', 'OK', 'OK']],
    ['- - - - -', ['INSUFFICIENT_DATA', 'retained', 'ALARM', 'OK']],
    ['0 X X - X', ['ALARM', 'ALARM', 'ALARM', 'ALARM']],
    ['- - X - -', ['ALARM', 'retained', 'ALARM', 'OK']],
  ])('3 of 3, %s', (text, states) => {
    expect(statesOf(text, 3)).toEqual(states);
  });

  it.each([
    ['0 - X - X', ['ALARM', 'ALARM', 'ALARM', 'ALARM']],
    ['0 0 X 0 X', ['ALARM', 'ALARM', 'ALARM', 'ALARM']],
    ['0 - X - -', ['OK', 'OK', 'ALARM', 'OK']],
    ['- - - - 0', ['OK', 'OK', 'ALARM', 'OK']],
    ['- - - X -', ['ALARM', 'retained', 'ALARM', 'OK']],
  ])('2 of 3, %s', (text, states) => {
    expect(statesOf(text, 2)).toEqual(states);
  });

  it.each(['- - - - X', '- - - X -'])('3 of 3 does not ring early, %s', (text) => {
    expect(judge({ ...alarm, TreatMissingData: 'missing' }, valuesOf(text), 'OK')).not.toBe(
      'ALARM',
    );
  });
});

describe('data', () => {
  const minute = (at: number) => at * 60_000;

  it('count in the period of their stamp, from when they are known, as periods slide by the minute', () => {
    const one = { ...alarm, EvaluationPeriods: 1, TreatMissingData: 'notBreaching' as const };
    const points = { 'N/M': [{ atMs: minute(10), value: 1, knownMs: minute(13) }] };
    const states = alarmStates(one, points, { fromMs: minute(9), toMs: minute(17), extra: 0 });
    expect(states.map((state) => state === 'ALARM')).toEqual([
      ...[false, false, false, false],
      ...[true, true, true, false, false],
    ]);
  });

  it('that come when their period is over are never seen by an alarm of one period', () => {
    const one = { ...alarm, EvaluationPeriods: 1, TreatMissingData: 'notBreaching' as const };
    const points = { 'N/M': [{ atMs: minute(10), value: 1, knownMs: minute(16) }] };
    const states = alarmStates(one, points, { fromMs: 0, toMs: minute(60), extra: 0 });
    expect(new Set(states)).toEqual(new Set(['OK']));
  });
});

describe('metric math', () => {
  const metrics = new Map<string, Series>([
    ['a', [null, 2, null, 4]],
    ['b', [1, null, null, 1]],
  ]);
  const of = (expression: string) => evaluateExpression(expression, metrics, 4);

  it.each<[string, Series]>([
    ['a + b', [null, null, null, 5]],
    ['a - FILL(b, 0)', [null, 2, null, 3]],
    ['FILL(a, REPEAT)', [null, 2, 2, 4]],
    ['FILL(a, 0) + 0 * FILL(a, REPEAT)', [null, 2, 0, 4]],
    ['SUM([a, b])', [1, 2, null, 5]],
    ['SUM([FILL(a, 0), FILL(b, 0)])', [1, 2, 0, 5]],
    ['IF(a >= 3, 100 * FILL(b, 0) / a, 0)', [null, 0, null, 25]],
    ['(1 + 2) * 2', [6, 6, 6, 6]],
  ])('%s', (expression, series) => {
    expect(of(expression)).toEqual(series);
  });

  it.each(['c', 'MAX(a)', 'a +', 'a b', 'a ? b'])('refuses %s', (expression) => {
    expect(() => of(expression)).toThrow();
  });
});
