/**
 * Whether a slice's checkpoints and the stream belong together. A stream that was put back from an older copy gives its next
 * records sequence numbers that HEAD has answered for already: they would be dropped as known, without a word.
 *
 * Invariant: nothing is folded, dropped or answered on top of a HEAD whose `delivered` is not a record of this very stream,
 * there or trimmed. It is asked at each start and after each restore.
 */
import type { Head } from '../checkpoint/head.ts';
import type { RecordSource, SourceRead } from '../ports.ts';
import { comparePositions, START } from '../position.ts';

/**
 * What follows HEAD's `delivered`, one record of it; null before the first delivery. Throws `StreamMismatchFault` where that
 * record is none of the stream's.
 */
export async function proveDelivered(
  { shardId, delivered }: Pick<Head, 'shardId' | 'delivered'>,
  source: RecordSource,
): Promise<SourceRead | null> {
  if (comparePositions(delivered, START) === 0) return null;
  return source.readAfter(shardId, delivered, 1);
}
