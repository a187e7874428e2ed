import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter, FORMAT_VERSION } from '../../../core/bytes.ts';
import {
  type BaseHeader,
  decodeBase,
  encodeBase,
  PACK_OFFSET,
} from '../../../core/checkpoint/base.ts';
import { type DeltaHeader, decodeDelta, encodeDelta } from '../../../core/checkpoint/delta.ts';
import {
  decodeManifest,
  EMPTY_MANIFEST,
  encodeManifest,
} from '../../../core/checkpoint/manifest.ts';
import { decodeReference, encodeReference } from '../../../core/checkpoint/names.ts';
import { crc32c } from '../../../core/crc32c.ts';
import { CorruptStateFault, NewerFormatFault, OlderFormatFault } from '../../../core/faults.ts';
import { SLICE } from '../../world/small-log.ts';
import { blobAt, expectEveryDamageDetected, linkAt, someManifest } from './blob-fixture.ts';

const name = { timeline: 0, epoch: 17, nonce: '0000000000000011' };
const deltaHeader: DeltaHeader = {
  ...name,
  sliceId: SLICE,
  generation: 2,
  planOrdinal: 3,
  planHash: 'abc',
  predecessors: [{ ...linkAt(15), after: 9 }, linkAt(16, { place: 'item' })],
  merged: { ...linkAt(17), kind: 'merged', after: 9 },
  base: blobAt('base', 11),
  manifest: someManifest,
  requestsDone: ['one', '', 'három'],
};
const baseHeader: BaseHeader = {
  ...name,
  sliceId: SLICE,
  planHash: 'abc',
  manifest: someManifest,
  entryCount: 3,
};
const pack = Uint8Array.from({ length: 20 }, (_, index) => index * 3);
const content = Uint8Array.from({ length: 40 }, (_, index) => index);
const deltaReference = blobAt('delta', 17);
const baseReference = blobAt('base', 17);

describe('a delta', () => {
  it.each([
    ['with a manifest', deltaHeader],
    [
      'without anything',
      {
        ...deltaHeader,
        predecessors: [],
        merged: null,
        base: null,
        manifest: null,
        requestsDone: [],
      },
    ],
  ])('comes back from its bytes, %s', (_, header) => {
    const { change, ...found } = decodeDelta(encodeDelta(header, content), SLICE, deltaReference);
    const before = header.predecessors.at(-1) ?? null;
    expect(found).toEqual({ ...header, kind: 'delta', before, tails: [] });
    expect([...change.raw(change.remaining)]).toEqual([...content]);
  });

  it('refuses every flipped bit and every cut', async () => {
    await expectEveryDamageDetected(encodeDelta(deltaHeader, content), (bytes) =>
      decodeDelta(bytes, SLICE, deltaReference),
    );
  });
});

describe('a base', () => {
  it('comes back from its bytes', () => {
    const bytes = encodeBase(baseHeader, pack, content);
    const { state, ...found } = decodeBase(bytes, SLICE, baseReference);
    expect(found).toEqual({ ...baseHeader, bytes, reference: baseReference });
    expect([...bytes.subarray(PACK_OFFSET, PACK_OFFSET + pack.length)]).toEqual([...pack]);
    expect([...state.raw(state.remaining)]).toEqual([...content]);
  });

  it('refuses every flipped bit and every cut', async () => {
    await expectEveryDamageDetected(encodeBase(baseHeader, pack, content), (bytes) =>
      decodeBase(bytes, SLICE, baseReference),
    );
  });
});

describe.each([
  ['delta', encodeDelta(deltaHeader, content), decodeDelta],
  ['base', encodeBase(baseHeader, pack, content), decodeBase],
] as const)('a %s', (kind, bytes, decode) => {
  const reference = blobAt(kind, 17);

  it.each([
    ['another epoch', SLICE, { ...reference, epoch: 16 }],
    ['another timeline', SLICE, { ...reference, timeline: 1 }],
    ['another writer', SLICE, { ...reference, nonce: '0000000000000012' }],
    ['another slice', 'slice-000000000001', reference],
  ])('is refused in the place of that of %s', (_, sliceId, meant) => {
    expect(() => decode(bytes, sliceId, meant)).toThrow(CorruptStateFault);
    expect(() => decode(bytes, sliceId, meant)).toThrow(/says that it is another one/);
  });

  it('is refused in the place of another kind of object', () => {
    const decodeOther = kind === 'delta' ? decodeBase : decodeDelta;
    expect(() => decodeOther(bytes, SLICE, reference)).toThrow(/begins with "TM(DL|BS)", not with/);
  });

  it.each([
    [FORMAT_VERSION + 1, NewerFormatFault],
    [FORMAT_VERSION - 1, OlderFormatFault],
  ])('is refused by name when its format is %s', (version, fault) => {
    const other = bytes.slice();
    other[4] = version;
    const end = other.length - 4;
    new DataView(other.buffer).setUint32(end, crc32c(other.subarray(0, end)), true);
    expect(() => decode(other, SLICE, reference)).toThrow(fault);
    expect(() => decode(other, SLICE, reference)).toThrow(
      `${kind} 17 of ${SLICE} has format ${version}; this Tidemark reads format 3 only`,
    );
  });
});

describe('a manifest', () => {
  it.each([
    ['with runs', someManifest],
    ['without', EMPTY_MANIFEST],
  ])('comes back from its bytes, %s', (_, manifest) => {
    const writer = new ByteWriter();
    encodeManifest(manifest, writer);
    const reader = new ByteReader(writer.peek());
    expect(decodeManifest(reader)).toEqual(manifest);
    reader.end();
  });
});

describe('a reference', () => {
  it.each(
    (['delta', 'base', 'run'] as const).flatMap((kind) =>
      (['item', 'object'] as const).map((place) =>
        blobAt(kind, 5, { place, nonce: 'ffffffff00000001', checksum: 0xffffffff }),
      ),
    ),
  )('comes back from its bytes: $kind, $place', (reference) => {
    const writer = new ByteWriter();
    encodeReference(reference, writer);
    expect(decodeReference(new ByteReader(writer.peek()))).toEqual(reference);
  });

  it('is refused with an unknown kind', () => {
    const writer = new ByteWriter();
    encodeReference(blobAt('run', 5), writer);
    const bytes = writer.finish();
    bytes[0] = 6;
    expect(() => decodeReference(new ByteReader(bytes))).toThrow(CorruptStateFault);
  });
});
