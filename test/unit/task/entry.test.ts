import { describe, expect, it } from 'vitest';
import { decideEntry, type Entry, type EntryFacts } from '../../../core/task/entry.ts';

const any = [false, true];
const [no, yes] = [[false], [true]];

type Row = [
  status: EntryFacts['status'],
  isOwner: boolean[],
  isLeaseOver: boolean[],
  asksToFence: boolean[],
  isOwnPlan: boolean[],
  entry: Entry,
];

const TABLE: Row[] = [
  ['OPENING', any, any, any, any, 'wait'],
  ['SEALED', any, any, any, any, 'wait'],
  ['OPEN', any, any, no, any, 'work'],
  ['OPEN', any, any, yes, yes, 'fence'],
  ['OPEN', any, any, yes, no, 'work'],
  ['RECOVERING', yes, any, any, any, 'work'],
  ['RECOVERING', no, no, no, any, 'leave'],
  ['RECOVERING', no, yes, no, yes, 'fence'],
  ['RECOVERING', no, yes, no, no, 'work'],
  ['RECOVERING', no, any, yes, yes, 'fence'],
  ['RECOVERING', no, any, yes, no, 'work'],
];

const cells = TABLE.flatMap(([status, owner, lease, fence, plan, entry]) =>
  owner.flatMap((isOwner) =>
    lease.flatMap((isLeaseOver) =>
      fence.flatMap((asksToFence) =>
        plan.map((isOwnPlan) => ({
          facts: { status, isOwner, isLeaseOver, asksToFence, isOwnPlan },
          entry,
        })),
      ),
    ),
  ),
);

describe('an invocation that comes to a slice', () => {
  it('finds each case in the table once', () => {
    const keys = cells.map(({ facts }) => JSON.stringify(facts));
    expect(new Set(keys).size).toBe(cells.length);
    expect(cells.length).toBe(4 * 2 ** 4);
  });

  it.each(cells)('$entry where $facts', ({ facts, entry }) => {
    expect(decideEntry(facts)).toBe(entry);
  });
});
