import { describe, expect, it } from 'vitest';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import { describeFate, describePolicies, viewFates } from '../../../core/definition/view-fate.ts';

const hourly = {
  category: 'flight',
  groupBy: ['origin'],
  window: { tumbling: '1h' },
  aggregates: { flights: { count: '*' }, worst: { max: 'delay' } },
};
const always = { aggregates: { total: { sum: 'delay' } } };
const FLIGHTS = {
  name: 'flights',
  time: { field: 'date' },
  category: { field: 'type' },
  dedupe: { id: 'id', within: '1m' },
  views: { always, hourly },
};

function planOf(changes: object): Plan {
  const parsed = parsePlan(JSON.parse(JSON.stringify({ ...FLIGHTS, ...changes })));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

const before = planOf({});
const other = (changes: object) => ({ views: { always, hourly: { ...hourly, ...changes } } });
const KEPT = 'always keeps its state';
const ROLLBACK =
  'its state is kept for 24 h or until the next change, whichever comes first, so that a rollback goes on from there';
const begins = (why: string) =>
  `hourly begins where each slice is now, because ${why} changed, and is incomplete before`;
const LEFT = `hourly, as it was: ${ROLLBACK}`;

describe('what becomes of views', () => {
  it.each<[string, object, readonly string[]]>([
    ['of policies', { time: { field: 'date', skew: 'none' } }, [KEPT, 'hourly keeps its state']],
    [
      'of names',
      { views: { always, by_hour: hourly } },
      [KEPT, "by_hour (it was 'hourly') keeps its state"],
    ],
    [
      'of an aggregate that is added',
      other({ aggregates: { ...hourly.aggregates, least: { min: 'delay' } } }),
      [KEPT, "hourly keeps its state; aggregate 'least' begins at the switch"],
    ],
    [
      'of one that goes and one that comes',
      other({ aggregates: { flights: { count: '*' }, least: { min: 'delay' } } }),
      [
        KEPT,
        "hourly keeps its state; aggregate 'least' begins at the switch; aggregate 'worst' ends",
      ],
    ],
    [
      'of another name for an aggregate',
      other({ aggregates: { n: { count: '*' }, worst: { max: 'delay' } } }),
      [KEPT, 'hourly keeps its state'],
    ],
    ['of the window', other({ window: { tumbling: '2h' } }), [KEPT, begins('its window'), LEFT]],
    [
      'of category and key',
      other({ category: 'bus', groupBy: ['stop'] }),
      [KEPT, begins('its category and its groupBy'), LEFT],
    ],
    [
      'of all aggregates',
      other({ aggregates: { least: { min: 'delay' } } }),
      [KEPT, begins('all of its aggregates'), LEFT],
    ],
    ['of the time', { time: { field: 'at' } }, [KEPT, begins('its time.field'), LEFT]],
    [
      'of the time, with nothing that bounds it',
      { time: { field: 'date', unit: 's', skew: 'none' } },
      [
        KEPT,
        `${begins('its time.unit')}; no window of it is known to be whole, as with time.skew 'none' records before the switch may be of any time: give time.skew a value in this change`,
        LEFT,
      ],
    ],
    [
      'of the time to the arrival',
      { time: undefined },
      [KEPT, begins('its time.field and its time.unit and its time.zone'), LEFT],
    ],
    [
      'of a view that is new, without a skew',
      { time: { field: 'date', skew: 'none' }, views: { always, hourly, daily: { ...always } } },
      [
        KEPT,
        'daily begins where each slice is now, and is incomplete before',
        'hourly keeps its state',
      ],
    ],
    ['of a view that goes', { views: { always } }, [KEPT, LEFT]],
  ])('after a change %s', (_, changes, lines) => {
    expect(viewFates(before, planOf(changes), false).map(describeFate)).toEqual(lines);
  });

  it('back, what did not go on is resumed, with the aggregates that had ended', () => {
    const resumed = 'hourly goes on from where it was left, and folds again what came since';
    for (const between of [
      other({ window: { tumbling: '2h' } }),
      other({ aggregates: { flights: { count: '*' } } }),
    ]) {
      const lines = viewFates(planOf(between), before, true).map(describeFate);
      expect(lines.slice(0, 2)).toEqual([KEPT, resumed]);
    }
    const more = other({ aggregates: { ...hourly.aggregates, least: { min: 'delay' } } });
    expect(viewFates(planOf(more), before, true).map(describeFate)).toEqual([
      KEPT,
      "hourly keeps its state; aggregate 'least' ends",
    ]);
  });
});

describe('policies', () => {
  const time = { field: 'date' };
  it.each<[string, object, readonly string[]]>([
    ['nothing', {}, []],
    ['a name', { views: { always, by_hour: hourly } }, []],
    [
      'late under another name',
      { views: { always, by_hour: { ...hourly, late: 'drop' } } },
      ['late of by_hour holds from the switch on'],
    ],
    ['late of a view that begins', other({ late: 'drop', groupBy: [] }), []],
    ['lateness', { time: { ...time, lateness: '2h' } }, ['time.lateness holds from the switch on']],
    [
      'skew, and earliest with it',
      { time: { ...time, skew: 'none' } },
      ['time.skew holds from the switch on', 'time.earliest holds from the switch on'],
    ],
    ['idle', { time: { ...time, idle: '1m' } }, ['time.idle holds from the switch on']],
    ['late', other({ late: 'drop' }), ['late of hourly holds from the switch on']],
    ['within', { dedupe: { id: 'id', within: '2m' } }, ['dedupe.within holds from the switch on']],
    [
      'the id',
      { dedupe: { id: 'other', within: '1m' } },
      ['dedupe.id holds from the switch on: no id of before is known'],
    ],
    [
      'no dedupe',
      { dedupe: undefined },
      ['dedupe ends at the switch; ids that are known are forgotten'],
    ],
  ])('are said of %s', (_, changes, lines) => {
    expect(describePolicies(before, planOf(changes))).toEqual(lines);
  });
});
