/**
 * References, manifests and HEADs to write down, and what a flipped or missing byte must do.
 */
import { expect } from 'vitest';
import type { ChainLink } from '../../../core/checkpoint/chain.ts';
import type { Head } from '../../../core/checkpoint/head.ts';
import type { Manifest, PackedBytes, RunReference } from '../../../core/checkpoint/manifest.ts';
import type { BlobKind, BlobReference } from '../../../core/checkpoint/names.ts';
import { CorruptStateFault, NewerFormatFault } from '../../../core/faults.ts';
import { Digest } from '../../../core/state/digest.ts';
import type { StoredView } from '../../../core/state/view-life.ts';
import { SHARD, SLICE } from '../../world/small-log.ts';

export function blobAt(
  kind: BlobKind,
  epoch: number,
  more: Partial<BlobReference> = {},
): BlobReference {
  return {
    kind,
    timeline: 0,
    epoch,
    nonce: epoch.toString(16).padStart(16, '0'),
    place: 'object',
    byteLength: 1_000 + epoch,
    checksum: 0xdeadbeef,
    ...more,
  };
}

/** The delta of an epoch as a link of a chain. */
export function linkAt(epoch: number, more: Partial<BlobReference> = {}): ChainLink {
  return { ...blobAt('delta', epoch, more), after: epoch - 1 };
}

export function runAt(epoch: number, level = 0, byteLength = 1_000): RunReference {
  return { ...blobAt('run', epoch, { byteLength }), level, entryCount: 10, indexOffset: 900 };
}

export const someLayout: StoredView = {
  name: 'view',
  hash: '0123456789abcdef0123456789abcdef',
  late: 'update',
  since: 3,
  ordinal: 1,
  columns: [{ kind: 'sum', fieldText: 'n', since: 3, coveredFromMs: -5 }],
};

export function packedAt(epoch: number, offset = 9, byteLength = 10): PackedBytes {
  return { pack: blobAt('base', epoch), offset, byteLength, checksum: 0xcafe };
}

export const someManifest: Manifest = {
  layouts: [someLayout],
  parts: [
    { layout: 0, from: null, epoch: 9, entryCount: 3, bytes: packedAt(9) },
    {
      layout: 0,
      from: { windowStartMs: -60_000, key: Uint8Array.of(5, 97, 0) },
      epoch: 7,
      entryCount: 0,
      bytes: null,
    },
  ],
  ids: {
    after: 2,
    until: 8,
    parts: [
      { after: 2, until: 5, entryCount: 2, newestMs: 1.5, bytes: packedAt(7, 2 ** 33, 48) },
      { after: 5, until: 8, entryCount: 1, newestMs: -4, bytes: packedAt(8, 40, 24) },
    ],
  },
  runs: [runAt(3, 2), runAt(9, 0, 2 ** 40)],
  runsEpoch: 9,
  replaced: [{ blob: blobAt('run', 1), epoch: 3 }],
  lost: [
    { layout: 0, from: null, to: { windowStartMs: 60_000, key: Uint8Array.of(4) }, epoch: 5 },
    { layout: 0, from: { windowStartMs: 60_000, key: Uint8Array.of(5) }, to: null, epoch: 6 },
  ],
};

/** Epoch 17 on the base of 9, with something in every field. */
export const someHead: Head = {
  sliceId: SLICE,
  shardId: SHARD,
  range: { start: '0'.repeat(32), end: 'f'.repeat(32) },
  streamId: 'abcdef0123456789',
  status: 'OPEN',
  timeline: 0,
  epoch: 17,
  generation: 2,
  revision: 40,
  nonce: 'fedcba9876543210',
  planOrdinal: 3,
  planHash: '0123456789abcdef0123456789abcdef',
  cursor: { sequenceNumber: '49590338271490256608559692538361571095', subSequence: 1 },
  delivered: { sequenceNumber: '49590338271490256608559692538361571096', subSequence: 0 },
  deliveredArrivalMs: 1_700_000_000_000,
  closesGap: true,
  awaitsMerge: true,
  watermarkMs: -1.5,
  digest: new Digest(15, 0x12345678, 0x9abcdef0),
  recordCount: 21,
  counts: { folded: 1, duplicates: 2, late: 3, quarantined: 4, unmatched: 5, heartbeats: 6 },
  partlyQuarantined: 1,
  partlyDropped: 1,
  pastDedupe: 1,
  entryCount: 300,
  stateBytes: 70_000,
  chainLength: 8,
  chainBytes: 9_000,
  base: blobAt('base', 9),
  chainSince: 9,
  baseCursor: { sequenceNumber: '49590338271490256608559692538361571090', subSequence: 0 },
  delta: blobAt('delta', 17, { place: 'item' }),
  collectBelow: 3,
  replayFrom: { sequenceNumber: '49590338271490256608559692538361571080', subSequence: 2 },
  floor: {
    epoch: 9,
    cursor: { sequenceNumber: '49590338271490256608559692538361571090', subSequence: 0 },
    sinceMs: 1_700_000_000_001,
  },
  committedMs: 1_700_000_000_002,
  previous: {
    planHash: 'fedcba98765432100123456789abcdef',
    base: blobAt('base', 5),
    chainSince: 5,
    delta: blobAt('delta', 7),
    cursor: { sequenceNumber: '49590338271490256608559692538361571085', subSequence: 0 },
    sinceMs: 1_700_000_000_000,
  },
};

const isDetected = (error: unknown) =>
  error instanceof CorruptStateFault || error instanceof NewerFormatFault;

/** Each bit flipped, each byte replaced by its neighbour and each shorter length must be refused by `open`. */
export async function expectEveryDamageDetected(
  bytes: Uint8Array,
  open: (bytes: Uint8Array) => unknown,
): Promise<void> {
  const damaged: [string, Uint8Array][] = [];
  for (let at = 0; at < bytes.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const flipped = bytes.slice();
      flipped[at] = (flipped[at] as number) ^ (1 << bit);
      damaged.push([`bit ${bit} of byte ${at}`, flipped]);
    }
    damaged.push([`cut to ${at} bytes`, bytes.slice(0, at)]);
  }
  damaged.push(['one byte more', Uint8Array.of(...bytes, 0)]);
  for (const [what, broken] of damaged) {
    let outcome: unknown = 'nothing';
    try {
      await open(broken);
    } catch (error) {
      outcome = error;
    }
    if (!isDetected(outcome)) expect.fail(`${what}: ${String(outcome)}`);
  }
  expect(damaged.length).toBeGreaterThan(bytes.length * 9);
}
