/**
 * Reading the bytes of parts where they lie. Where they are not what was written, they are read a second time: perhaps they came
 * badly only.
 */
import { crc32c } from '../crc32c.ts';
import { type BlobStores, DamagedBlob, readBlobRange } from './blobs.ts';
import type { PackedBytes } from './manifest.ts';

/** The bytes of one part, checked. */
export async function readPart(
  sliceId: string,
  part: PackedBytes,
  stores: BlobStores,
): Promise<Uint8Array> {
  const { pack, offset, byteLength } = part;
  for (let attempt = 1; attempt <= 2; attempt++) {
    const found = await readBlobRange(stores, sliceId, pack, offset, offset + byteLength);
    if (isSound(found, part)) return found;
  }
  throw new DamagedBlob(
    `the part at byte ${offset} of base ${pack.epoch} of ${sliceId} is not what was written`,
    pack,
  );
}

/** True if these are the bytes that were written. */
export function isSound(
  found: Uint8Array,
  { byteLength, checksum }: Pick<PackedBytes, 'byteLength' | 'checksum'>,
): boolean {
  return found.length === byteLength && crc32c(found) === checksum;
}
