/**
 * Writing HEAD under the revision that was read: the one way in which anything about a slice becomes true. A write that was
 * refused says what stands there instead.
 */
import { TransientFault } from '../faults.ts';
import type { TaskHeads } from '../ports.ts';
import { type Head, headItem, parseHead } from './head.ts';
import { assertSuccession } from './transitions.ts';

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
