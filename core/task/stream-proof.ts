/**
 * Whether a slice's checkpoints and the stream belong together. A stream that was put back from an older copy gives its next
 * records sequence numbers that HEAD has answered for already: they would be dropped as known, without a word.
 *
 * Invariant: nothing is folded, dropped or answered on top of a HEAD whose `delivered` is not a record of this very stream,
 * there or gone. It is asked at each start, before a task without a memory writes HEAD, after each restore, and before a batch
 * is answered while another owner recovers the slice. A shard that the stream no longer has contradicts nothing.
 */
import { assert } from '../assert.ts';
import type { Head } from '../checkpoint/head.ts';
import { StreamMismatchFault } from '../faults.ts';
import type { RecordSource, ShardDirectory, SourceRead } from '../ports.ts';
import { comparePositions, START } from '../position.ts';

export type Proved = Pick<Head, 'sliceId' | 'shardId' | 'streamId' | 'delivered'>;

/**
 * What follows HEAD's `delivered`, one record of it; null before the first delivery. Throws `StreamMismatchFault` where HEAD
 * is of another stream, or that record is none of the stream's. `gone` and `trimmed` are proofs: the stream had that record.
 */
export async function proveDelivered(
  head: Proved,
  source: RecordSource,
  shards: Pick<ShardDirectory, 'streamId'>,
): Promise<SourceRead | null> {
  const { shardId, delivered } = head;
  const streamId = await shards.streamId();
  if (streamId !== head.streamId) throw otherStream(head, streamId);
  if (comparePositions(delivered, START) === 0) return null;
  const answer = await source.readAfter(shardId, delivered, 1);
  const isOfStream = answer.outcome !== 'records' || answer.origin === 'stream';
  assert(isOfStream, 'only-the-stream-proves-itself');
  return answer;
}

function otherStream({ sliceId, streamId }: Proved, found: string): StreamMismatchFault {
  return new StreamMismatchFault(
    `the checkpoints of ${sliceId} are of stream ${streamId}, this is stream ${found}: it was deleted and made again under its name, or stream.db is another pipeline's`,
    {
      hint: 'put back the stream, or the table or checkpoint.db, that belong together; to begin again on purpose, delete the objects of the pipeline and everything in its table, or use an empty data folder (docs/operations.md)',
    },
  );
}
