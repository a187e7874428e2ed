import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { type DevEvent, devOutput } from '../../../cli/dev-output.ts';

let out: MockInstance;
let err: MockInstance;

beforeEach(() => {
  out = vi.spyOn(console, 'log').mockImplementation(() => {});
  err = vi.spyOn(console, 'error').mockImplementation(() => {});
});

afterEach(() => vi.restoreAllMocks());

const READY: DevEvent = {
  kind: 'ready',
  pipeline: 'shop',
  url: 'http://127.0.0.1:1',
  shards: 2,
  environments: 1,
  restoredRecords: 1_000,
};
const CHANGE: DevEvent = {
  kind: 'plan-activated',
  ordinal: 3,
  hash: 'a'.repeat(32),
  previousHash: 'b'.repeat(32),
  differences: ['view minutes: window 1m → 5m'],
  views: [
    { view: 'by_shop', fate: 'kept', begins: ['worst'], ends: ['total'] },
    { view: 'shops', fate: 'kept', formerName: 'stores' },
    { view: 'hours', fate: 'resumed' },
    { view: 'minutes', fate: 'begins', because: ['its window'] },
    { view: 'minutes', fate: 'left' },
  ],
  policies: ['time.lateness holds from the switch on'],
  endedRollbacks: ['c'.repeat(32)],
};
const failure = { name: 'HeldFault', message: 'another plan', hint: 'wait', stack: 'at x' };

const printed = (spy: MockInstance) => spy.mock.calls.map(([text]) => text);

describe('what tidemark dev says', () => {
  it.each<[DevEvent, string]>([
    [
      READY,
      'tidemark dev: pipeline shop is ready at http://127.0.0.1:1 (2 shards, 1 environment, 1,000 records in checkpoints)',
    ],
    [
      CHANGE,
      [
        'the pipeline changed: plan 3 (aaaaaaaa) takes the place of bbbbbbbb',
        '  view minutes: window 1m → 5m',
        'what becomes of its views:',
        "  by_shop keeps its state; aggregate 'worst' begins at the switch; aggregate 'total' ends",
        "  shops (it was 'stores') keeps its state",
        '  hours goes on from where it was left, and folds again what came since',
        '  minutes begins where each slice is now, because its window changed, and is incomplete before',
        '  minutes, as it was: its state is kept for 24 h or until the next change, whichever comes first, so that a rollback goes on from there',
        '  time.lateness holds from the switch on',
        '  the state that was kept for a rollback to plan cccccccc, which was left less than 24 h ago, ends with this change: only the state of the plan before is kept. If that plan comes back later, it is a change like any other',
      ].join('\n'),
    ],
    [
      { kind: 'rewound', sliceId: 'slice-1', epoch: 7, timeline: 2 },
      'slice-1 went back to epoch 7, and is on timeline 2 now; what came since was folded again',
    ],
    [{ kind: 'plan-unchanged', path: 'a.ts' }, 'a.ts changed, but not in what it means'],
  ])('is a line for a person', (event, text) => {
    devOutput(false, false).tell(event);

    expect(printed(out)).toEqual([text]);
    expect(printed(err)).toEqual([]);
  });

  it.each<[DevEvent, string]>([
    [
      { kind: 'tick-failed', shardId: 'shard-1', failure },
      'shard-1: HeldFault: another plan\n  wait\n  it is tried again every few seconds, and told once',
    ],
    [
      { kind: 'invocation-failed', shardId: 'shard-1', failure, retryInMs: 100 },
      'shard-1: HeldFault: another plan\n  wait\n  nothing is lost; the batch comes again in 100 ms',
    ],
    [
      { kind: 'reload-failed', path: 'a.ts', message: 'a.ts is wrong' },
      'a.ts is wrong\n  the pipeline that ran before goes on running',
    ],
  ])('goes to standard error where something failed', (event, text) => {
    devOutput(false, false).tell(event);

    expect(printed(err)).toEqual([text]);
    expect(printed(out)).toEqual([]);
  });

  it('is one JSON object a line for a program, and nothing else', () => {
    const output = devOutput(true, false);
    output.tell(READY);
    output.tell({ kind: 'request-failed', error: new Error('no') });
    output.say(['for a person']);

    const { kind, ...rest } = READY;
    expect(printed(out).map((text) => JSON.parse(text))).toEqual([
      { event: kind, ...rest },
      { event: 'request-failed', error: 'Error: no' },
    ]);
  });

  it.each([true, false])('leaves standard output to a command (JSON: %s)', (json) => {
    const output = devOutput(json, true);
    output.tell(READY);
    output.tell(CHANGE);

    expect(printed(out)).toEqual([]);
    expect(printed(err)).toHaveLength(2);
  });
});
