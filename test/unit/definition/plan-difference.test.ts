import { describe, expect, it } from 'vitest';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { PipelineJson } from '../../../core/definition/pipeline-json.ts';
import { describeDifference } from '../../../core/definition/plan-difference.ts';
import { canonicalJson, planToJson } from '../../../core/definition/plan-json.ts';

const BEFORE = {
  name: 'flights',
  dedupe: { id: 'id', within: '5m' },
  views: {
    delay: {
      groupBy: ['origin'],
      window: { tumbling: '1h' },
      aggregates: { total: { sum: 'delay' }, typical: { quantile: 'delay', at: [0.5] } },
    },
    routes: { aggregates: { flights: { count: '*' } } },
  },
};

function stored(json: unknown): PipelineJson {
  const parsed = parsePlan(json);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return JSON.parse(canonicalJson(planToJson(parsed.plan))) as PipelineJson;
}

describe('the difference between two pipelines', () => {
  it('is nothing where both mean the same', () => {
    const after = {
      ...BEFORE,
      stream: 'flights',
      time: { lateness: '60s' },
      dedupe: { within: '300s', id: 'id' },
    };
    expect(describeDifference(stored(BEFORE), stored(after))).toEqual([]);
  });

  it('says in one line each what changed', () => {
    const after = {
      name: 'flights2',
      time: { field: 'date', zone: 'Asia/Tokyo' },
      dedupe: { id: 'id', within: '1h' },
      category: { field: 'type' },
      views: {
        delay: {
          category: 'flight',
          groupBy: ['origin', 'carrier'],
          window: { tumbling: '2h' },
          late: 'drop',
          aggregates: {
            total: { max: 'delay' },
            typical: { quantile: 'delay', at: [0.5, 0.9] },
            flights: { count: '*' },
          },
        },
        airports: { aggregates: { flights: { count: '*' } } },
      },
    };
    expect(describeDifference(stored(BEFORE), stored(after))).toEqual([
      'category not set → field type',
      'dedupe.within 5m → 1h',
      'name flights → flights2',
      'stream flights → flights2',
      'time.earliest not set → 2000-01-01T00:00:00Z',
      'time.field not set → date',
      'time.skew not set → 10m',
      'time.unit not set → ms',
      'time.zone UTC → Asia/Tokyo',
      'view airports: added',
      'view delay: aggregate flights added: count *',
      'view delay: aggregate total sum delay → max delay',
      'view delay: aggregate typical at [0.5], quantile delay → at [0.5, 0.9], quantile delay',
      'view delay: category not set → flight',
      'view delay: groupBy [origin] → [origin, carrier]',
      'view delay: late update → drop',
      'view delay: window 1h → 2h',
      'view routes: removed',
    ]);
  });

  it('shows what goes away', () => {
    const { dedupe, ...rest } = BEFORE;
    const after = {
      ...rest,
      views: { ...rest.views, delay: { aggregates: { total: { sum: 'delay' } } } },
    };
    expect(describeDifference(stored(BEFORE), stored(after))).toEqual([
      'dedupe id id, within 5m → not set',
      'view delay: aggregate typical removed: at [0.5], quantile delay',
      'view delay: groupBy [origin] → []',
      'view delay: window 1h → all time',
    ]);
    expect(dedupe.within).toBe('5m');
  });

  it('does not hide what a later version wrote', () => {
    const later = { ...stored(BEFORE), sampling: 0.5 } as PipelineJson;
    expect(describeDifference(later, stored(BEFORE))).toEqual(['sampling 0.5 → not set']);
  });
});
