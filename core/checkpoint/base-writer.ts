/**
 * Writing a base: run, then the base with the parts that are written anew; and the manifest that says what all of the state is
 * in from then on, with what older manifests list and this one does not.
 *
 * All of it is of the moment at which it is prepared: the state may go on while it is written.
 */
import { closingBytes, drainClosing } from '../state/closing.ts';
import { encodeBase } from './base.ts';
import { referenceOf, writeBlob } from './blobs.ts';
import { awaitsMerge, drainBudget } from './compaction.ts';
import type { Head } from './head.ts';
import {
  chainSince,
  type IdsPart,
  type Manifest,
  type PackedBytes,
  packsOf,
  type ReplacedBlob,
} from './manifest.ts';
import { type BlobReference, blobKey, sameBlob } from './names.ts';
import type { OpenParts, Touched } from './open-parts.ts';
import { writeParts } from './part-writer.ts';
import { prepareRuns, type RunPorts, type RunsRequest } from './run-writer.ts';

export interface BaseRequest extends Omit<RunsRequest, 'drain'> {
  readonly head: Head;
  readonly parts: OpenParts;
  /** Bytes of parts that are written anew, about; 0: it only drains what closes. */
  readonly budget: number;
  /** By the delta of this epoch. */
  readonly touched: Touched;
}

export interface WrittenBase {
  readonly base: BlobReference;
  readonly manifest: Manifest;
  /** Ticks have runs to merge. */
  readonly awaitsMerge: boolean;
  /** Of base and run. */
  readonly byteLength: number;
}

/** Encodes what a base takes from the state, and gives what writes it. */
export function prepareBase(request: BaseRequest, ports: RunPorts): () => Promise<WrittenBase> {
  const { head, state, name, touched } = request;
  const { epoch } = name;
  const self = referenceOf({ ...name, kind: 'base' }, 'object', new Uint8Array());
  const { image } = state;
  const drain = drainClosing(image, drainBudget(closingBytes(image), ports.knobs));
  const { bounds } = drain;
  const loneUntil = head.base?.epoch ?? 0;
  const wanted = { epoch, budget: request.budget, pack: self, loneUntil, bounds };
  const { bytes: pack, ...parts } = writeParts(state, request.parts, touched, wanted, ports.knobs);
  const since = chainSince({ ...parts, runsEpoch: epoch });
  const writeRuns = prepareRuns({ ...request, drain }, since, ports);
  const drained = drain.entries.reduce((sum, { length }) => sum + length, 0);
  const entryCount = image.keptEntryCount - drained;
  const standing = state.encodeStanding();
  const planHash = image.plan.hash;
  return async () => {
    const { sliceId } = head;
    const { runBytes, ...runs } = await writeRuns();
    const replaced = replacedBy({ ...parts, ...runs }, request.manifest, epoch, head);
    const manifest = { ...parts, ...runs, replaced };
    const bytes = encodeBase({ ...name, sliceId, planHash, manifest, entryCount }, pack, standing);
    const base = await writeBlob(ports.blobs, sliceId, { ...name, kind: 'base' }, bytes);
    return {
      base,
      manifest: withOwnPack(manifest, base),
      awaitsMerge: awaitsMerge(manifest, ports.knobs),
      byteLength: base.byteLength + runBytes,
    };
  };
}

/**
 * What the manifest before lists and this one does not, and what older ones do for as long as it says more than a name: a blob is
 * kept by its own epoch where that is not below the floor, so what counts is which blobs a floor divides from the base that
 * replaced them. Floors to come are where HEAD's chain begins, or later.
 */
function replacedBy(
  now: Pick<Manifest, 'parts' | 'ids' | 'runs'>,
  before: Manifest,
  epoch: number,
  { sliceId, collectBelow, floor, chainSince }: Head,
): ReplacedBlob[] {
  const keyOf = (blob: BlobReference) => blobKey(sliceId, blob);
  const listed = new Set([...packsOf(now), ...now.runs].map(keyOf));
  const gone = [...packsOf(before), ...before.runs].filter((blob) => !listed.has(keyOf(blob)));
  const all = [...before.replaced, ...gone.map((blob) => ({ blob, epoch }))];
  const divides = (limit: number, each: ReplacedBlob) =>
    each.blob.epoch < limit && each.epoch > limit;
  return all.filter(
    (each) => each.epoch > chainSince || divides(collectBelow, each) || divides(floor.epoch, each),
  );
}

/** The base is written: what lies in it has its whole reference. */
function withOwnPack(manifest: Manifest, base: BlobReference): Manifest {
  const own = (bytes: PackedBytes | null) =>
    bytes !== null && sameBlob(bytes.pack, base) ? { ...bytes, pack: base } : bytes;
  const ownIds = (part: IdsPart) => ({ ...part, bytes: own(part.bytes) ?? part.bytes });
  return {
    ...manifest,
    parts: manifest.parts.map((part) => ({ ...part, bytes: own(part.bytes) })),
    ids: { ...manifest.ids, parts: manifest.ids.parts.map(ownIds) },
  };
}
