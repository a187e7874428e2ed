import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashKey } from '../../core/state/key-table.ts';
import { ViewTable } from '../../core/state/view-table.ts';
import { smallPlan } from '../world/small-log.ts';

const view = smallPlan.views.find(({ columns }) => columns.some(({ kind }) => kind === 'quantile'));
if (view === undefined) throw new Error('a view with all that lies out of line is needed');
const values = view.columns.map((_, column) => column);

type Step =
  | {
      readonly kind: 'fold';
      readonly windowStartMs: number;
      readonly key: number;
      readonly value: number;
    }
  | { readonly kind: 'commit' | 'undo' | 'seal' | 'reopen' }
  | { readonly kind: 'close'; readonly windowStartMs: number };

const anyWindow = fc.constantFrom(0, 60_000, 120_000);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('fold' as const),
      windowStartMs: anyWindow,
      key: fc.nat({ max: 12 }),
      value: fc.constantFrom(0, 1, -3, 0.1, 1e300, -1e300, 2 ** 53),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('commit', 'undo', 'seal', 'reopen') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('close' as const), windowStartMs: anyWindow }),
  },
);

/** All entries, in the order in which they came. */
function contentOf(table: ViewTable): string[] {
  return table.windowStarts().flatMap((startMs) => {
    const window = table.window(startMs);
    return Array.from({ length: window.size }, (_, ordinal) => {
      const accumulators = Buffer.from(table.encoded(window.slotAt(ordinal))).toString('hex');
      return `${startMs} ${window.keyAt(ordinal).join()} ${accumulators}`;
    });
  });
}

function fold(table: ViewTable, { windowStartMs, key, value }: Extract<Step, { kind: 'fold' }>) {
  const bytes = Uint8Array.of(key % 3, key);
  const slot = table.touch(windowStartMs, bytes, bytes.length, hashKey(bytes));
  for (const column of values) table.add(slot, column, value);
}

describe('a table of a view', () => {
  it('is after an undo what it was at its last commit, or when it was sealed, whatever was folded and closed in between', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 120 }), (steps) => {
        const table = new ViewTable(view);
        // What a table would be that never undid anything: the oracle.
        let committedSteps: Step[] = [];
        let sealed: Step[] | null = null;
        let since: Step[] = [];
        const commit = () => {
          table.commit();
          committedSteps = [...committedSteps, ...(sealed ?? since)];
          since = sealed === null ? [] : since;
          sealed = null;
        };
        for (const step of steps) {
          if (step.kind === 'fold') {
            fold(table, step);
            since.push(step);
          } else if (step.kind === 'undo') {
            table.undo();
            since = [];
          } else if (step.kind === 'seal') {
            if (sealed !== null) continue;
            table.seal();
            [sealed, since] = [since, []];
          } else if (step.kind === 'reopen') {
            if (sealed === null) continue;
            table.undo();
            table.reopen();
            [sealed, since] = [null, sealed];
          } else {
            if (sealed !== null && step.kind === 'close') commit();
            commit();
            if (step.kind === 'close') {
              table.removeWindow(step.windowStartMs);
              committedSteps = committedSteps.filter(
                (each) => each.kind !== 'fold' || each.windowStartMs !== step.windowStartMs,
              );
            }
          }
          expect(table.isCommitted).toBe(since.length === 0 && sealed === null);
          const oracle = new ViewTable(view);
          for (const each of [...committedSteps, ...(sealed ?? []), ...since])
            if (each.kind === 'fold') fold(oracle, each);
          expect(contentOf(table)).toEqual(contentOf(oracle));
          expect(table.entryCount).toBe(oracle.entryCount);
          const touched = new Set(
            since.map((each) => (each.kind === 'fold' ? `${each.windowStartMs} ${each.key}` : '')),
          );
          const touchedCount = table
            .windowStarts()
            .reduce((sum, startMs) => sum + table.window(startMs).touchedCount, 0);
          expect(touchedCount).toBe(touched.size);
          expect(table.touchedBytes() > 0).toBe(touched.size > 0);
        }
      }),
      { numRuns: 150 },
    );
  });
});
