import { describe, expect, it } from 'vitest';
import {
  type BlobReference,
  blobKey,
  parseBlobKey,
  sameBlob,
} from '../../../core/checkpoint/names.ts';
import { InvariantFault } from '../../../core/faults.ts';
import { isBlobKey } from '../../../core/ports.ts';
import { SLICE } from '../../world/small-log.ts';
import { blobAt } from './blob-fixture.ts';

const name = { kind: 'run', timeline: 2, epoch: 33, nonce: '00000000000000ab' } as const;

describe('the name of a blob', () => {
  it('is its key, and comes back from it', () => {
    const key = blobKey(SLICE, name);
    expect(key).toBe('slice-000000000000/run/000000000002-000000000033-00000000000000ab');
    expect(isBlobKey(key)).toBe(true);
    expect(parseBlobKey(SLICE, key)).toEqual(name);
  });

  it.each([
    ['another slice', 'slice-0000000000001/run/000000000002-000000000033-00000000000000ab'],
    ['another kind', `${SLICE}/fragment/000000000002-000000000033-00000000000000ab`],
    ['too few digits', `${SLICE}/run/2-33-00000000000000ab`],
    ['something after it', `${SLICE}/run/000000000002-000000000033-00000000000000ab.tmp`],
  ])('is not read from a key with %s', (_, key) => {
    expect(parseBlobKey(SLICE, key)).toBeNull();
  });

  it('needs a whole nonce', () => {
    expect(() => blobKey(SLICE, { ...name, nonce: 'AB' })).toThrow(InvariantFault);
  });

  it('is the same by kind, timeline, epoch and nonce, wherever it is kept', () => {
    const blob = blobAt('run', 33);
    const elsewhere: BlobReference = { ...blob, place: 'item', byteLength: 1, checksum: 1 };
    expect(sameBlob(blob, elsewhere)).toBe(true);
    for (const other of [
      { ...blob, kind: 'base' as const },
      { ...blob, timeline: 1 },
      { ...blob, epoch: 34 },
      { ...blob, nonce: '00000000000000ff' },
    ]) {
      expect(sameBlob(blob, other)).toBe(false);
    }
  });
});
