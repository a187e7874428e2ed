/**
 * Going back to an older epoch, as a commit of its own: a new timeline, whose first delta is empty and follows the epoch that
 * the slice goes back to. `delivered` stays: what lies between is replayed before the slice is open again.
 *
 *   timeline 0   … 4 ── 5 ── 6 ── 7 = HEAD
 *                     └── timeline 1   8 = HEAD, RECOVERING
 */
import { ByteWriter } from '../bytes.ts';
import type { SliceImage } from '../state/slice-image.ts';
import { encodeChange } from '../state/state-change.ts';
import { writeBlob } from './blobs.ts';
import { type ChainLink, continued, cutChain } from './chain.ts';
import type { CommitPorts } from './commit.ts';
import { awaitsMerge } from './compaction.ts';
import { encodeDelta } from './delta.ts';
import type { SoundEpoch } from './fallback.ts';
import { type Head, type PreviousPlan, standingOf } from './head.ts';
import { writeHead } from './head-write.ts';
import { chainSince, partBytesOf } from './manifest.ts';
import { rewinding } from './transitions.ts';

export interface RewindTarget extends Pick<SoundEpoch, 'checkpoint' | 'base'> {
  readonly planOrdinal: number;
  readonly previous: PreviousPlan | null;
}

export type RewindOutcome =
  | {
      readonly outcome: 'applied';
      readonly head: Head;
      /** What the next delta names. */
      readonly chain: readonly ChainLink[];
    }
  | { readonly outcome: 'refused' };

/** Commits HEAD to the target's state. */
export async function rewind(
  head: Head,
  target: RewindTarget,
  ports: CommitPorts,
): Promise<RewindOutcome> {
  const { checkpoint, base, planOrdinal, previous } = target;
  const { image, parts, chain, baseCursor, manifest } = checkpoint;
  const since = chainSince(manifest);
  const nowMs = ports.clock.nowMs();
  const { sliceId } = head;
  const epoch = head.epoch + 1;
  image.adoptPlan(epoch);
  parts.follow(image, epoch);
  const timeline = head.timeline + 1;
  const name = { kind: 'delta', timeline, epoch, nonce: ports.nonces.nonce() } as const;
  const kept = cutChain(chain, { chainSince: since, collectBelow: head.collectBelow });
  const generation = head.generation + 1;
  const bytes = encodeDelta(
    {
      ...name,
      sliceId,
      generation,
      planOrdinal,
      planHash: image.plan.hash,
      predecessors: kept,
      merged: null,
      base,
      manifest: null,
      requestsDone: [],
    },
    encodeNoChange(image),
  );
  const delta = await writeBlob(ports.blobs, sliceId, name, bytes);
  const next = rewinding(head, {
    standing: standingOf(image.progress),
    entryCount: image.openEntryCount,
    base,
    baseCursor,
    awaitsMerge: awaitsMerge(manifest, ports.knobs),
    chainSince: since,
    partBytes: partBytesOf(manifest),
    delta,
    chain: continued(kept, null, delta),
    planOrdinal,
    planHash: image.plan.hash,
    previous,
    nowMs,
  });
  const commit = await writeHead(head, next, ports.heads);
  if (commit.outcome === 'refused') return { outcome: 'refused' };
  return { outcome: 'applied', head: next, chain: continued(kept, null, delta) };
}

/** A change that says where the image stands, and changes nothing. */
export function encodeNoChange(image: SliceImage): Uint8Array {
  const writer = new ByteWriter();
  const source = image.source();
  const views = source.views.map((view) => ({ ...view, entries: [] }));
  encodeChange({ ...source, views, dedupeIds: [] }, writer, 'by-key');
  return writer.finish();
}
