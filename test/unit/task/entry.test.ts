import { describe, expect, it } from 'vitest';
import {
  type Claim,
  claimOf,
  decideEntry,
  type Entry,
  type EntryFacts,
} from '../../../core/task/entry.ts';

const any = [false, true];
const [no, yes] = [[false], [true]];

type Row = [
  status: EntryFacts['status'],
  claim: Claim[],
  isOwner: boolean[],
  isLeaseOver: boolean[],
  asksToFence: boolean[],
  isOwnPlan: boolean[],
  entry: Entry,
];

const anyClaim: Claim[] = ['none', 'current', 'past'];

const TABLE: Row[] = [
  ['OPENING', anyClaim, any, any, any, any, 'wait'],
  ['SEALED', anyClaim, any, any, any, any, 'wait'],
  ['OPEN', ['past'], any, any, any, any, 'leave'],
  ['OPEN', ['current'], any, any, yes, any, 'leave'],
  ['OPEN', ['current'], any, any, no, any, 'work'],
  ['OPEN', ['none'], any, any, no, any, 'work'],
  ['OPEN', ['none'], any, any, yes, yes, 'fence'],
  ['OPEN', ['none'], any, any, yes, no, 'work'],
  ['RECOVERING', ['past'], any, any, any, any, 'leave'],
  ['RECOVERING', ['current'], any, any, any, any, 'work'],
  ['RECOVERING', ['none'], yes, any, any, any, 'work'],
  ['RECOVERING', ['none'], no, no, no, any, 'leave'],
  ['RECOVERING', ['none'], no, yes, no, yes, 'fence'],
  ['RECOVERING', ['none'], no, yes, no, no, 'work'],
  ['RECOVERING', ['none'], no, any, yes, yes, 'fence'],
  ['RECOVERING', ['none'], no, any, yes, no, 'work'],
];

const cells = TABLE.flatMap(([status, claims, owner, lease, fence, plan, entry]) =>
  claims.flatMap((claim) =>
    owner.flatMap((isOwner) =>
      lease.flatMap((isLeaseOver) =>
        fence.flatMap((asksToFence) =>
          plan.map((isOwnPlan) => ({
            facts: { status, claim, isOwner, isLeaseOver, asksToFence, isOwnPlan },
            entry,
          })),
        ),
      ),
    ),
  ),
);

describe('an invocation that comes to a slice', () => {
  it('finds each case in the table once', () => {
    const keys = cells.map(({ facts }) => JSON.stringify(facts));
    expect(new Set(keys).size).toBe(cells.length);
    expect(cells.length).toBe(4 * 3 * 2 ** 4);
  });

  it.each(cells)('$entry where $facts', ({ facts, entry }) => {
    expect(decideEntry(facts)).toBe(entry);
  });
});

it('an event claims what HEAD has, what it had before, or nothing', () => {
  const head = { generation: 3 };
  expect([null, 3, 2, 0].map((generation) => claimOf(generation, head))).toEqual([
    'none',
    'current',
    'past',
    'past',
  ]);
});
