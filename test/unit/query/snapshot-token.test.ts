import { describe, expect, it } from 'vitest';
import type { BlobReference } from '../../../core/checkpoint/names.ts';
import { TOKEN_LENGTH_MAX } from '../../../core/limits.ts';
import {
  decodeSnapshotToken,
  encodeSnapshotToken,
  fingerprintOf,
  inTokenOrder,
  type PinnedSlice,
  type SnapshotToken,
} from '../../../core/query/snapshot-token.ts';
import { sealToken } from '../../../core/query/token.ts';

const slice = (number: number, epoch: number, more: Partial<PinnedSlice> = {}): PinnedSlice => ({
  sliceId: `slice-${String(number).padStart(12, '0')}`,
  status: 'OPEN',
  waits: false,
  epoch,
  nonceByte: (epoch * 31) % 256,
  ...more,
});

const tokenOf = (slices: readonly PinnedSlice[], keyBytes = 30): SnapshotToken => ({
  issuedMs: 1_764_000_000_000,
  questionHash: '0123456789abcdef',
  after: { value: 1.5, key: new Uint8Array(keyBytes).fill(7), windowStartMs: -60_000 },
  fingerprint: 'fedcba9876543210',
  isListed: true,
  slices,
});

describe('the next of an answer', () => {
  it('is read as it was written, in the order of slices', () => {
    const slices = [
      slice(3, 70_000),
      slice(4, 12, { status: 'RECOVERING', waits: true }),
      slice(5, 0, { nonceByte: 0, waits: true }),
      slice(900, 2 ** 40, { status: 'SEALED' }),
      { ...slice(0, 7), sliceId: 'another-name' },
      { ...slice(0, 8), sliceId: 'slice-12' },
    ];
    const token = { ...tokenOf([...slices].reverse()), isListed: false };
    const read = decodeSnapshotToken(encodeSnapshotToken(token));
    expect(read).toEqual({ ...token, slices });
    expect(inTokenOrder([...slices].reverse())).toEqual(slices);
    const empty = tokenOf([]);
    expect(decodeSnapshotToken(encodeSnapshotToken(empty))).toEqual(empty);
  });

  it.each([
    [256, 1_000, 1_800],
    [256, 400_000, 1_800],
    [2_000, 1_000, 8_200],
    [2_000, 400_000, TOKEN_LENGTH_MAX],
    [1_800, 10_000_000, TOKEN_LENGTH_MAX],
  ])(
    'of %i slices whose epochs differ by up to %i has at most %i characters',
    (count, apart, lengthMax) => {
      // Shards were split and merged now and then, so that some numbers are missing.
      const slices = Array.from({ length: count }, (_, index) =>
        slice(index + Math.floor(index / 100), 31_000_000 + (index % 2) * apart),
      );
      const token = tokenOf(slices);
      const text = encodeSnapshotToken(token);
      expect(text.length).toBeLessThan(lengthMax);
      expect(decodeSnapshotToken(text)).toEqual(token);
    },
  );

  it('names what it was of by a fingerprint: every slice, epoch and nonce counts', () => {
    const delta = (epoch: number, nonce: string) =>
      ({ kind: 'delta', timeline: 0, epoch, nonce }) as BlobReference;
    const one = [
      { sliceId: 'slice-000000000001', delta: delta(4, '00000000000000aa') },
      { sliceId: 'slice-000000000002', delta: null },
    ];
    expect(fingerprintOf([...one].reverse())).toBe(fingerprintOf(one));
    const others = [
      [one[0]],
      [{ ...one[0], delta: delta(5, '00000000000000aa') }, one[1]],
      [{ ...one[0], delta: delta(4, '10000000000000aa') }, one[1]],
      [{ ...one[0], sliceId: 'slice-000000000003' }, one[1]],
    ] as (typeof one)[];
    for (const other of others) expect(fingerprintOf(other)).not.toBe(fingerprintOf(one));
  });

  it('that names more slices than it has bytes for is none, and fills no memory', () => {
    const madeUp = sealToken((writer) => {
      writer.f64(0);
      writer.string('');
      writer.u8(0);
      writer.bytes(new Uint8Array());
      writer.signedVarint(0);
      writer.u32(0);
      writer.u32(0);
      writer.u8(1);
      writer.varint(1);
      writer.varint(0);
      writer.varint(2 ** 40);
      writer.varint(0);
    });
    expect(decodeSnapshotToken(madeUp)).toBeNull();
  });
});
