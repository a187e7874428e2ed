/**
 * What an invocation may do with its slice, by what HEAD says when it comes: the one place where that is decided.
 *
 *   status          owner     lease   asks to fence   plan    →
 *   OPENING         any       any     any             any     wait
 *   SEALED          any       any     any             any     wait
 *   OPEN            –         –       no              any     work
 *   OPEN            –         –       yes             own     fence
 *   OPEN            –         –       yes             other   work    (it goes over to its own plan, which fences too)
 *   RECOVERING      this      any     any             any     work
 *   RECOVERING      another   runs    no              any     leave   (a delivery is answered for: the owner replays it)
 *   RECOVERING      another   over    no              own     fence
 *   RECOVERING      another   over    no              other   work
 *   RECOVERING      another   any     yes             own     fence
 *   RECOVERING      another   any     yes             other   work
 *
 * Code of another plan never fences: it could not go on with what it took.
 */
import type { Head } from '../checkpoint/head.ts';

export interface EntryFacts {
  readonly status: Head['status'];
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
  const { status, isOwner, isLeaseOver, asksToFence, isOwnPlan } = facts;
  switch (status) {
    case 'OPENING':
    case 'SEALED':
      return 'wait';
    case 'OPEN':
      return asksToFence && isOwnPlan ? 'fence' : 'work';
    case 'RECOVERING':
      if (isOwner) return 'work';
      if (!(asksToFence || isLeaseOver)) return 'leave';
      return isOwnPlan ? 'fence' : 'work';
  }
}
