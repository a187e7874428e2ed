/**
 * Writing HEAD under the revision that was read: the one way in which anything about a slice becomes true. A write that was
 * refused says what stands there instead.
 */
import { TransientFault } from '../faults.ts';
import type { TaskHeads } from '../ports.ts';
import { comparePositions, type Position } from '../position.ts';
import { assertSuccession, type Head, headItem, parseHead } from './head.ts';

export type HeadCommit =
  | { readonly outcome: 'applied'; readonly head: Head }
  | { readonly outcome: 'refused'; readonly current: Head | null };

/** Replaces `before` by `after`. Our own nonce in what stands there means that an answer was lost. */
export async function writeHead(before: Head, after: Head, heads: TaskHeads): Promise<HeadCommit> {
  assertSuccession(before, after);
  const item = headItem(after);
  let answer: Awaited<ReturnType<TaskHeads['writeHead']>>;
  try {
    answer = await heads.writeHead(item, before.revision);
  } catch (fault) {
    if (!(fault instanceof TransientFault)) throw fault;
    // Applied or not is unknown: asking again is safe, since the condition and the nonce are the same.
    answer = await heads.writeHead(item, before.revision);
  }
  if (answer.outcome === 'applied') return { outcome: 'applied', head: after };
  const current = answer.current === null ? null : parseHead(answer.current);
  if (current?.nonce === after.nonce) return { outcome: 'applied', head: after };
  return { outcome: 'refused', current };
}

/** HEAD answers for more by this position; what is told of the record at `delivered` moves with it, and only then. */
export function movesDelivered(
  { delivered }: Pick<Head, 'delivered'>,
  position: Position,
): boolean {
  return comparePositions(position, delivered) > 0;
}

/** HEAD answers for a batch that no checkpoint holds: its records, and all before them, are in a memory or in the stream. */
export function delivering(head: Head, position: Position, arrivalMs: number, nonce: string): Head {
  const isMoved = movesDelivered(head, position);
  const { sequenceNumber, subSequence } = isMoved ? position : head.delivered;
  return {
    ...head,
    revision: head.revision + 1,
    nonce,
    delivered: { sequenceNumber, subSequence },
    deliveredArrivalMs: isMoved ? arrivalMs : head.deliveredArrivalMs,
    closesGap: isMoved ? false : head.closesGap,
  };
}

/** A new owner: no memory of an earlier generation can write HEAD any more. Its lease begins now. */
export function fencing(head: Head, nonce: string, nowMs: number): Head {
  return {
    ...head,
    status: 'RECOVERING',
    generation: head.generation + 1,
    revision: head.revision + 1,
    nonce,
    committedMs: nowMs,
  };
}
