import { describe, expect, it } from 'vitest';
import type { AnswerRow } from '../../../core/query/view-answer.ts';
import { recountShard } from '../../../simulation/recount.ts';
import { idealRecount } from '../../../simulation/recount-ideal.ts';
import { differencesOf } from '../../../testing/differences.ts';
import { planOf, recordAt } from '../state/fold-fixture.ts';

const plan = planOf({
  name: 'p',
  views: { v: { groupBy: ['k'], aggregates: { n: { count: '*' } } } },
});
const logged = [{ k: 1 }, { k: 1 }, { k: 2 }].map((each, index) => recordAt(index, each));
const row = (k: number, n: number): AnswerRow => ({
  key: { k },
  window: null,
  closed: false,
  revision: 1,
  values: { n },
});

async function differences(rows: AnswerRow[], ideal = logged) {
  const recounts = [recountShard(plan, logged)];
  const run = { rows: async () => rows };
  const { broken, wrongRows } = await differencesOf(
    plan,
    run,
    recounts,
    idealRecount(plan, [ideal]),
  );
  return { broken, wrong: wrongRows.get('v') };
}

describe('differencesOf', () => {
  it('finds none in what the records say', async () => {
    expect(await differences([row(1, 2), row(2, 1)])).toEqual({ broken: [], wrong: 0 });
  });

  it('blames Tidemark for an answer that the log does not give', async () => {
    const { broken, wrong } = await differences([row(1, 3), row(7, 1)]);
    expect(broken).toEqual([
      'v [1]@null: n is 3, expected 2',
      'v [2]@null: the row is missing',
      'v: a row that no record makes',
    ]);
    expect(wrong).toBe(3);
  });

  it('blames the settings for one that only the ideal recount does not give', async () => {
    const more = [...logged, recordAt(3, { k: 2 })];
    expect(await differences([row(1, 2), row(2, 1)], more)).toEqual({ broken: [], wrong: 1 });
  });
});
