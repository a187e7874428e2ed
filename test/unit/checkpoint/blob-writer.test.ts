import { describe, expect, it } from 'vitest';
import { MemoryBlobStore } from '../../../adapters/memory/memory-blob-store.ts';
import { MemoryClock } from '../../../adapters/memory/memory-clock.ts';
import { BlobWriter } from '../../../core/checkpoint/blob-writer.ts';
import { readBlob } from '../../../core/checkpoint/blobs.ts';
import { blobKey } from '../../../core/checkpoint/names.ts';
import { InvariantFault } from '../../../core/faults.ts';
import type { ObjectStore } from '../../../core/ports.ts';
import { patternOf } from '../../contract/contract.ts';
import { SLICE } from '../../world/small-log.ts';
import { overriding } from '../task/task-fixture.ts';

const NAME = { kind: 'run', timeline: 0, epoch: 1, nonce: '0000000000000001' } as const;
const KEY = blobKey(SLICE, NAME);
const KNOBS = { uploadPieceBytes: 100 };

function newStores() {
  const clock = new MemoryClock(0);
  const calls: string[] = [];
  const memory = new MemoryBlobStore(clock);
  const objects = overriding(memory as ObjectStore, {
    create: (key: string, bytes: Uint8Array) => {
      calls.push(`create ${bytes.length}`);
      return memory.create(key, bytes);
    },
    upload: async (key: string) => {
      const upload = await memory.upload(key);
      return {
        write: (piece: Uint8Array) => {
          calls.push(`piece ${piece.length}`);
          return upload.write(piece);
        },
        complete: () => upload.complete(),
        abandon: () => {
          calls.push('abandon');
          return upload.abandon();
        },
      };
    },
  });
  return { stores: { items: memory, objects }, calls };
}

type Stores = ReturnType<typeof newStores>['stores'];

async function write(stores: Stores, bytes: Uint8Array, at: number) {
  const writer = new BlobWriter(stores, SLICE, NAME, KNOBS);
  for (let from = 0; from < bytes.length; from += at) {
    await writer.write(bytes.slice(from, from + at));
  }
  return writer.finish();
}

describe('a blob that is written as its bytes come', () => {
  it.each([
    [0, 30, ['create 0']],
    [99, 30, ['create 99']],
    [100, 30, ['piece 100']],
    [250, 30, ['piece 120', 'piece 120', 'piece 10']],
    [250, 1_000, ['piece 250']],
  ])('of %i bytes by %i comes back whole: %j', async (length, at, expected) => {
    const { stores, calls } = newStores();
    const bytes = patternOf(length, 1);
    const reference = await write(stores, bytes, at);
    expect(reference).toMatchObject({ ...NAME, place: 'object', byteLength: length });
    expect(await readBlob(stores, SLICE, reference)).toEqual(bytes);
    expect(calls).toEqual(expected);
  });

  it('may be there already by its own completion, and never by that of another', async () => {
    const { stores } = newStores();
    const bytes = patternOf(250, 1);
    await stores.objects.create(KEY, bytes);
    expect(await write(stores, bytes, 30)).toMatchObject({ byteLength: 250 });
    for (const others of [patternOf(250, 2), patternOf(240, 1), patternOf(260, 1)]) {
      await stores.objects.delete([KEY]);
      await stores.objects.create(KEY, others);
      await expect(write(stores, bytes, 30)).rejects.toThrow(InvariantFault);
    }
  });

  it('leaves nothing when it is abandoned, however far it came', async () => {
    for (const length of [50, 250]) {
      const { stores, calls } = newStores();
      const writer = new BlobWriter(stores, SLICE, NAME, KNOBS);
      await writer.write(patternOf(length, 1));
      await writer.abandon();
      expect(calls.includes('abandon')).toBe(length === 250);
      expect(await stores.objects.list('', null, 9)).toEqual([]);
    }
  });
});
