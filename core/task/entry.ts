/**
 * What an invocation may do with its slice, by what HEAD says when it comes: the one place where that is decided.
 *
 * A recovery may take several invocations, which run in different environments: each answer names the generation that it
 * fenced or went on with, and the event of the next one *claims* that generation. What claims it is its owner, as the
 * environment is that fenced it and remembers that. A claim that is past was fenced off by another owner: it does nothing.
 *
 *   status          claim     owner     lease   asks to fence   plan    →
 *   OPENING         any       any       any     any             any     wait
 *   SEALED          any       any       any     any             any     wait
 *   OPEN            past      any       any     any             any     leave
 *   OPEN            current   any       any     yes             any     leave   (that recovery has ended)
 *   OPEN            current   any       any     no              any     work
 *   OPEN            none      any       any     no              any     work
 *   OPEN            none      any       any     yes             own     fence
 *   OPEN            none      any       any     yes             other   work    (it goes over to its own plan, which fences too)
 *   RECOVERING      past      any       any     any             any     leave
 *   RECOVERING      current   any       any     any             any     work
 *   RECOVERING      none      this      any     any             any     work
 *   RECOVERING      none      another   runs    no              any     leave   (a delivery is answered for: the owner replays it)
 *   RECOVERING      none      another   over    no              own     fence
 *   RECOVERING      none      another   over    no              other   work
 *   RECOVERING      none      another   any     yes             own     fence
 *   RECOVERING      none      another   any     yes             other   work
 *
 * Code of another plan never fences: it could not go on with what it took.
 */
import type { Head } from '../checkpoint/head.ts';
import { HeldFault } from '../faults.ts';

/** Of the generation that an event names: it is HEAD's, or it is not any more. */
export type Claim = 'none' | 'current' | 'past';

export interface EntryFacts {
  readonly status: Head['status'];
  readonly claim: Claim;
  /** This task fenced the generation that HEAD has. */
  readonly isOwner: boolean;
  /** The owner has committed nothing for so long that it must be gone. */
  readonly isLeaseOver: boolean;
  /** The invocation is to take the slice, even from an owner that is at work. */
  readonly asksToFence: boolean;
  /** HEAD was written by the plan of this code. */
  readonly isOwnPlan: boolean;
}

export type Entry = 'work' | 'fence' | 'leave' | 'wait';

export function decideEntry(facts: EntryFacts): Entry {
  const { status, claim, isOwner, isLeaseOver, asksToFence, isOwnPlan } = facts;
  if (status === 'OPENING' || status === 'SEALED') return 'wait';
  switch (claim) {
    case 'past':
      return 'leave';
    case 'current':
      return status === 'OPEN' && asksToFence ? 'leave' : 'work';
    case 'none':
      if (status === 'OPEN') return asksToFence && isOwnPlan ? 'fence' : 'work';
      if (isOwner) return 'work';
      if (!(asksToFence || isLeaseOver)) return 'leave';
      return isOwnPlan ? 'fence' : 'work';
  }
}

export function claimOf(generation: number | null, head: Pick<Head, 'generation'>): Claim {
  if (generation === null) return 'none';
  return generation === head.generation ? 'current' : 'past';
}

/** `mine`: of this recovery; null if another owner was faster with its fence. */
export function fencedOff({ sliceId, generation }: Head, mine: number | null): HeldFault {
  const whom =
    mine === null ? 'this recovery' : `generation ${mine}, which is that of this recovery`;
  return new HeldFault(
    `slice ${sliceId} has generation ${generation}: another owner has fenced off ${whom}`,
    { hint: 'leave the slice to that owner; `recover` without a generation takes it again' },
  );
}
