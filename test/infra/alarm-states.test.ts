/**
 * Every alarm of the template over series of points: that it can ring, does not ring by itself, and does not fall asleep.
 */
import { Duration } from 'aws-cdk-lib';
import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import {
  type AlarmProperties,
  type AlarmState,
  alarmStates,
  type Point,
  type Points,
} from './alarm-evaluator.ts';
import { makeApp, type SynthOptions } from './pipeline-app.ts';

const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;
/** How many more periods CloudWatch looks at than asked for is its own affair. */
const EXTRAS = [1, 2, 5];
/** What CloudWatch's own metrics and embedded ones take to come, at most. */
const DELAY_MS = 2 * MINUTE_MS;

const DEFAULT = {};
const LONGEST = { aggregateTimeout: Duration.minutes(15) };

const templates = new Map<object, Template>();
function alarmOf(name: string, props: object): AlarmProperties {
  let template = templates.get(props);
  if (template === undefined) {
    template = makeApp({ props: () => props } as SynthOptions).template();
    templates.set(props, template);
  }
  const alarms = Object.values(template.findResources('AWS::CloudWatch::Alarm'));
  const found = alarms.find(({ Properties }) =>
    String(Properties.AlarmDescription).endsWith(`"${name}".`),
  );
  if (found === undefined) throw new Error(`there is no alarm ${name}`);
  return found['Properties'] as AlarmProperties;
}

interface Watch {
  readonly minutes: number;
  readonly props?: object;
}

/** The states in which an alarm is over these points, as any CloudWatch may have it; the points begin at 0. */
function watch(name: string, points: Points, { minutes, props = DEFAULT }: Watch): AlarmState[][] {
  const alarm = alarmOf(name, props);
  return EXTRAS.map((extra) =>
    alarmStates(alarm, points, { fromMs: 0, toMs: minutes * MINUTE_MS, extra }),
  );
}

const rings = (runs: AlarmState[][]) => runs.map((states) => states.includes('ALARM'));
const ends = (runs: AlarmState[][]) => runs.map((states) => states.at(-1));
const ALWAYS = EXTRAS.map(() => true);
const NEVER = EXTRAS.map(() => false);
const at = (state: AlarmState) => EXTRAS.map(() => state);

/** A point each `everyMs`, known after the delay. */
function steady(everyMs: number, toMs: number, value: number, fromMs = 0): Point[] {
  const points: Point[] = [];
  for (let atMs = fromMs; atMs < toMs; atMs += everyMs) {
    points.push({ atMs, value, knownMs: atMs + DELAY_MS });
  }
  return points;
}

/** Invocations one after the other: stamped by their start, known when they have ended. */
function invocations(tookMs: number, toMs: number, value: number, pauseMs = 20_000): Point[] {
  return steady(tookMs + pauseMs, toMs, value).map(({ atMs }) => ({
    atMs,
    value,
    knownMs: atMs + tookMs + DELAY_MS,
  }));
}

/** The same, of what the function writes itself at its end. */
function written(tookMs: number, toMs: number, value: number, pauseMs = 20_000): Point[] {
  return steady(tookMs + pauseMs, toMs, value).map(({ atMs }) => ({
    atMs: atMs + tookMs,
    value,
    knownMs: atMs + tookMs + DELAY_MS,
  }));
}

const HOUR_MS = 60 * MINUTE_MS;

describe('Behind', () => {
  const series = (points: Point[]) => ({ 'AWS/Lambda/IteratorAge': points });

  it.each([
    ['short invocations', DEFAULT, 3 * SECOND_MS],
    ['replays as long as they may be', DEFAULT, 295 * SECOND_MS],
    ['replays of 15 minutes', LONGEST, 895 * SECOND_MS],
  ])('rings while batches are old, in %s', (_, props, tookMs) => {
    const points = series(invocations(tookMs, 2 * HOUR_MS, 20 * MINUTE_MS));
    const runs = watch('Behind', points, { minutes: 110, props });
    expect(rings(runs)).toEqual(ALWAYS);
    expect(ends(runs)).toEqual(at('ALARM'));
  });

  it('goes on ringing when nothing is invoked any more, and ends when batches are young', () => {
    const old = invocations(3 * SECOND_MS, 30 * MINUTE_MS, 20 * MINUTE_MS);
    expect(ends(watch('Behind', series(old), { minutes: 120 }))).toEqual(at('ALARM'));
    const young = steady(10 * SECOND_MS, 60 * MINUTE_MS, 500, 30 * MINUTE_MS);
    expect(ends(watch('Behind', series([...old, ...young]), { minutes: 58 }))).toEqual(at('OK'));
  });

  it('does not ring for one old batch, nor where nothing comes', () => {
    const one = [...steady(10 * SECOND_MS, HOUR_MS, 500)];
    one.push({ atMs: 20 * MINUTE_MS, value: 20 * MINUTE_MS, knownMs: 22 * MINUTE_MS });
    expect(rings(watch('Behind', series(one), { minutes: 60 }))).toEqual(NEVER);
    const lonely = series([{ atMs: 0, value: 20 * MINUTE_MS, knownMs: DELAY_MS }]);
    expect(rings(watch('Behind', lonely, { minutes: 60 }))).toEqual(NEVER);
    expect(rings(watch('Behind', {}, { minutes: 60 }))).toEqual(NEVER);
  });
});

describe('CheckpointAge', () => {
  const series = (points: Point[]) => ({ 'Tidemark/CheckpointAgeMs': points });
  const old = steady(MINUTE_MS, 20 * MINUTE_MS, 11 * MINUTE_MS);

  it('rings by a record that waits, and stays when ticks end', () => {
    expect(ends(watch('CheckpointAge', series(old), { minutes: 15 }))).toEqual(at('ALARM'));
    expect(ends(watch('CheckpointAge', series(old), { minutes: 120 }))).toEqual(at('ALARM'));
  });

  it('does not ring for one look that failed, and is over when the record is saved', () => {
    const one = steady(MINUTE_MS, HOUR_MS, 3_000);
    one[20] = { ...(one[20] as Point), value: 5 * HOUR_MS };
    expect(rings(watch('CheckpointAge', series(one), { minutes: 58 }))).toEqual(NEVER);
    const saved = [...old, ...steady(MINUTE_MS, HOUR_MS, 3_000, 20 * MINUTE_MS)];
    expect(ends(watch('CheckpointAge', series(saved), { minutes: 40 }))).toEqual(at('OK'));
  });
});

describe('SlicesUnknown', () => {
  const series = (points: Point[]) => ({ 'Tidemark/SlicesUnknown': points });

  it('rings where nobody can tell for a quarter of an hour, and not for a look that failed', () => {
    const unknown = steady(MINUTE_MS, HOUR_MS, 1);
    expect(ends(watch('SlicesUnknown', series(unknown), { minutes: 30 }))).toEqual(at('ALARM'));
    const now = steady(MINUTE_MS, HOUR_MS, 0).map((point, index) => ({
      ...point,
      value: index % 4 === 0 ? 2 : 0,
    }));
    expect(rings(watch('SlicesUnknown', series(now), { minutes: 58 }))).toEqual(NEVER);
  });
});

describe('NearTimeOut', () => {
  const series = (points: Point[]) => ({ 'AWS/Lambda/Duration': points });

  it.each([
    ['5 minutes', DEFAULT, 290 * SECOND_MS],
    ['15 minutes', LONGEST, 890 * SECOND_MS],
  ])('sees the one point of a long invocation, which comes late: %s', (_, props, tookMs) => {
    const one = invocations(tookMs, 1, tookMs);
    expect(rings(watch('NearTimeOut', series(one), { minutes: 60, props }))).toEqual(ALWAYS);
    const among = [...one, ...invocations(2 * SECOND_MS, HOUR_MS, 2 * SECOND_MS)];
    const runs = watch('NearTimeOut', series(among), { minutes: 60, props });
    expect(rings(runs)).toEqual(ALWAYS);
    expect(ends(runs)).toEqual(at('OK'));
  });

  it('does not ring for short ones', () => {
    const short = invocations(2 * SECOND_MS, HOUR_MS, 2 * SECOND_MS);
    expect(rings(watch('NearTimeOut', series(short), { minutes: 60 }))).toEqual(NEVER);
  });
});

describe('TickMissing', () => {
  const series = (points: Point[]) => ({ 'Tidemark/Slices': points });
  const ticks = steady(MINUTE_MS, 30 * MINUTE_MS, 3);

  it('is in ALARM when ticks end, and until they come again', () => {
    const ended = watch('TickMissing', series(ticks), { minutes: 300 });
    expect(ends(ended)).toEqual(at('ALARM'));
    for (const states of ended) {
      const since = states.indexOf('ALARM');
      expect(since).toBeGreaterThan(40);
      expect(since).toBeLessThan(60);
      expect(new Set(states.slice(since))).toEqual(new Set(['ALARM']));
    }
    const again = [...ticks, ...steady(MINUTE_MS, 300 * MINUTE_MS, 3, 200 * MINUTE_MS)];
    expect(ends(watch('TickMissing', series(again), { minutes: 240 }))).toEqual(at('OK'));
  });

  it('does not ring at a first deploy, before the first tick and after it', () => {
    expect(rings(watch('TickMissing', {}, { minutes: 120 }))).toEqual(NEVER);
    const first = steady(MINUTE_MS, HOUR_MS, 0, 7 * MINUTE_MS);
    expect(rings(watch('TickMissing', series(first), { minutes: 58 }))).toEqual(NEVER);
  });

  it('does not ring for ticks that come late', () => {
    const late = ticks.map((point) => ({ ...point, knownMs: point.atMs + 4 * MINUTE_MS }));
    expect(rings(watch('TickMissing', series(late), { minutes: 30 }))).toEqual(NEVER);
  });
});

describe('Deaths', () => {
  const series = (points: Point[]) => ({ 'Tidemark/Deaths-orders': points });

  it.each([
    ['5 minutes', DEFAULT, 300 * SECOND_MS],
    ['15 minutes', LONGEST, 900 * SECOND_MS],
  ])('ring by invocations that run out of %s', (_, props, tookMs) => {
    const points = series(written(tookMs, 2 * HOUR_MS, 1, MINUTE_MS));
    expect(rings(watch('Deaths', points, { minutes: 110, props }))).toEqual(ALWAYS);
  });

  it('ring by two in a row and not by one', () => {
    const one = { atMs: MINUTE_MS, value: 1, knownMs: MINUTE_MS + DELAY_MS };
    const none = steady(MINUTE_MS, HOUR_MS, 0);
    expect(rings(watch('Deaths', series([...none, one]), { minutes: 58 }))).toEqual(NEVER);
    const two = [...none, one, { ...one, atMs: one.atMs + 5_000 }];
    const runs = watch('Deaths', series(two), { minutes: 58 });
    expect(rings(runs)).toEqual(ALWAYS);
    expect(ends(runs)).toEqual(at('OK'));
  });

  it('are no faults, however long the invocations take that throw them', () => {
    const points = {
      // Of eight shards.
      'AWS/Lambda/Errors': invocations(290 * SECOND_MS, 2 * HOUR_MS, 8),
      'Tidemark/Faults': written(290 * SECOND_MS, 2 * HOUR_MS, 8),
    };
    expect(rings(watch('Deaths', points, { minutes: 110 }))).toEqual(NEVER);
  });
});

describe.each([
  ['Faults', 'Tidemark/Faults'],
  ['OtherFaults', 'Tidemark/OtherFaults'],
  ['Throttles', 'AWS/Lambda/Throttles'],
  ['FunctionErrors', 'AWS/Lambda/Errors'],
  ['WriteThrottles', 'AWS/Kinesis/WriteProvisionedThroughputExceeded'],
  ['ReadThrottles', 'AWS/Kinesis/ReadProvisionedThroughputExceeded'],
])('%s', (name, metric) => {
  it('rings while it goes on, and is over afterwards', () => {
    const points = { [metric]: steady(MINUTE_MS, 40 * MINUTE_MS, 1) };
    expect(ends(watch(name, points, { minutes: 30 }))).toEqual(at('ALARM'));
    expect(ends(watch(name, points, { minutes: 110 }))).toEqual(at('OK'));
  });

  it('does not ring for a minute of it, wherever the minute lies', () => {
    const minute = steady(10 * SECOND_MS, 70 * SECOND_MS, 1);
    expect(rings(watch(name, { [metric]: minute }, { minutes: 60 }))).toEqual(NEVER);
  });
});

describe('Faults', () => {
  it.each([
    ['5 minutes', DEFAULT, 295 * SECOND_MS],
    ['15 minutes', LONGEST, 895 * SECOND_MS],
  ])('ring by invocations that fail after %s each', (_, props, tookMs) => {
    const points = { 'Tidemark/Faults': written(tookMs, 3 * HOUR_MS, 1, MINUTE_MS) };
    expect(rings(watch('Faults', points, { minutes: 170, props }))).toEqual(ALWAYS);
  });
});

describe.each([
  ['Quarantine', 'Tidemark/RecordsQuarantined'],
  ['GapsPossible', 'Tidemark/GapsPossible'],
])('%s', (name, metric) => {
  it('rings by a single one, and not by none', () => {
    const none = steady(10 * SECOND_MS, HOUR_MS, 0);
    expect(rings(watch(name, { [metric]: none }, { minutes: 58 }))).toEqual(NEVER);
    const one = [...none, { atMs: 20 * MINUTE_MS, value: 1, knownMs: 22 * MINUTE_MS }];
    expect(rings(watch(name, { [metric]: one }, { minutes: 58 }))).toEqual(ALWAYS);
  });
});

describe('OnFailure', () => {
  const metric = 'AWS/SQS/ApproximateNumberOfMessagesVisible';

  it('rings while a message lies there, although SQS says nothing of a queue that nobody touches', () => {
    const points = steady(5 * MINUTE_MS, 6 * HOUR_MS, 1);
    const asleep = watch('OnFailure', { [metric]: points }, { minutes: 24 * 60 });
    expect(ends(asleep)).toEqual(at('ALARM'));
    const gone = [...points, ...steady(5 * MINUTE_MS, 13 * HOUR_MS, 0, 12 * HOUR_MS)];
    expect(ends(watch('OnFailure', { [metric]: gone }, { minutes: 13 * 60 }))).toEqual(at('OK'));
  });

  it('does not ring for a queue that was never touched', () => {
    expect(rings(watch('OnFailure', {}, { minutes: 600 }))).toEqual(NEVER);
  });
});

describe('RestoreRate', () => {
  const of = (commits: number, restores: number | null) => ({
    'Tidemark/Commits': steady(MINUTE_MS, 90 * MINUTE_MS, commits),
    ...(restores === null
      ? {}
      : { 'Tidemark/Restores': steady(MINUTE_MS, 90 * MINUTE_MS, restores) }),
  });

  it('rings where many commits begin with a restore, and not where there are few commits', () => {
    expect(ends(watch('RestoreRate', of(12, 4), { minutes: 80 }))).toEqual(at('ALARM'));
    expect(rings(watch('RestoreRate', of(12, 1), { minutes: 80 }))).toEqual(NEVER);
    expect(rings(watch('RestoreRate', of(2, 2), { minutes: 80 }))).toEqual(NEVER);
    expect(rings(watch('RestoreRate', of(12, null), { minutes: 80 }))).toEqual(NEVER);
  });
});
