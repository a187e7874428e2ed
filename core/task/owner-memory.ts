/**
 * What an environment remembers of a slice that it works on: HEAD as it was read or written last, the checkpoint of its epoch, and
 * what was folded since.
 *
 * Invariant: the state is the fold of exactly the slice's records up to its position, and its last commit is HEAD's epoch.
 */
import type { CommitPorts } from '../checkpoint/commit.ts';
import type { Head } from '../checkpoint/head.ts';
import type { Checkpoint } from '../checkpoint/restore.ts';
import type { RecordDecoder } from '../decode/record-decoder.ts';
import type {
  PlanRegistry,
  QuarantinedRecord,
  QuarantineIndex,
  RecordSource,
  ShardDirectory,
} from '../ports.ts';
import { SliceState } from '../state/slice-state.ts';
import type { QuarantineEntry } from '../state/state-change.ts';

export interface OwnerMemory {
  head: Head;
  checkpoint: Checkpoint;
  state: SliceState;
  /** Arrival time of the record at the position; 0 if the position is the cursor's. */
  arrivalMs: number;
  /** The record at the position was read from the stream to close a gap; false if the event source brought it. */
  closesGap: boolean;
  /** What HEAD's epoch quarantined and the index may not list yet. */
  unlisted: readonly QuarantinedRecord[];
  /** True once a batch was committed: what the event source brings next follows it, as far as is known. */
  followsSource: boolean;
  /** Another plan wrote HEAD; the next commit goes over to this one, under this ordinal. */
  switchTo: number | null;
  /** Parts that could not be read: the next commit writes down what is lost with them. */
  lostParts: number;
}

export interface OwnerPorts extends CommitPorts {
  readonly source: RecordSource;
  readonly shards: ShardDirectory;
  readonly quarantine: QuarantineIndex;
  readonly plans: PlanRegistry;
}

/** A memory at the epoch of `head`, of which `checkpoint` is the image. */
export function rememberedAt(
  head: Head,
  checkpoint: Checkpoint,
  decoder: RecordDecoder,
): OwnerMemory {
  const state = new SliceState(checkpoint.image, decoder, head.shardId);
  const unlisted = checkpoint.quarantined.map((record) => quarantinedBy(head, record));
  const unknown = { arrivalMs: 0, closesGap: false, followsSource: false };
  return { head, checkpoint, state, unlisted, ...unknown, switchTo: null, lostParts: 0 };
}

/** What the quarantine index lists of a record that the epoch of `head` quarantined. */
export function quarantinedBy(head: Head, record: QuarantineEntry): QuarantinedRecord {
  const { sliceId, shardId, timeline, epoch, planHash } = head;
  return { ...record, sliceId, shardId, timeline, epoch, planHash };
}
