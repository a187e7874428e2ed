/**
 * The guarantees of `ObjectStore`, for every implementation: those of `BlobStore`, and blobs that are written in pieces.
 */
import { expect } from 'vitest';
import { UPLOAD_PIECE_BYTES_MIN } from '../../core/limits.ts';
import type { BlobUpload, ObjectStore } from '../../core/ports.ts';
import { blobStoreContract } from './blob-store-contract.ts';
import { bytesOf, type Contract, describeContract, patternOf, type World } from './contract.ts';

const KEY = 'slice/run/1';

/** Three pieces, the last a small one. */
const PIECES = [
  patternOf(UPLOAD_PIECE_BYTES_MIN, 1),
  patternOf(UPLOAD_PIECE_BYTES_MIN + 12_345, 2),
  patternOf(100, 3),
];
const WHOLE = Buffer.concat(PIECES);

async function uploaded(store: ObjectStore, key = KEY): Promise<BlobUpload> {
  const upload = await store.upload(key);
  for (const piece of PIECES) await upload.write(piece);
  return upload;
}

async function isWhole(store: ObjectStore, key = KEY): Promise<boolean> {
  const read = await store.read(key);
  return read !== null && Buffer.compare(read, WHOLE) === 0;
}

export function objectStoreContract(contract: Contract<World<ObjectStore>>): void {
  blobStoreContract(contract);
  const { name, make } = contract;
  describeContract('ObjectStore', { name, make }, (test) => {
    test('a blob in pieces is not there before it is complete, and then whole', async (world) => {
      const [store, other] = [await world.connect(), await world.connect()];
      const upload = await store.upload(KEY);
      for (const piece of PIECES) {
        await upload.write(piece);
        expect(await other.read(KEY)).toBeNull();
        expect(await other.list('', null, 10)).toEqual([]);
      }
      expect(await upload.complete()).toBe('created');
      expect(await isWhole(other)).toBe(true);
      const from = UPLOAD_PIECE_BYTES_MIN - 3;
      expect(await other.readRange(KEY, from, from + 9)).toEqual(
        new Uint8Array(WHOLE.subarray(from, from + 9)),
      );
      const [listed] = await other.list('', null, 10);
      expect(listed).toMatchObject({ key: KEY, byteLength: WHOLE.length });
    });

    test('a blob of one small piece is as good as any', async (world) => {
      const store = await world.connect();
      const upload = await store.upload(KEY);
      await upload.write(bytesOf('small'));
      expect(await upload.complete()).toBe('created');
      expect(await store.read(KEY)).toEqual(bytesOf('small'));
    });

    test('bytes of pieces that change afterwards change nothing', async (world) => {
      const store = await world.connect();
      const piece = bytesOf('before|piece|after').subarray(7, 12);
      const upload = await store.upload(KEY);
      await upload.write(piece);
      piece.fill(0);
      await upload.complete();
      expect(await store.read(KEY)).toEqual(bytesOf('piece'));
    });

    test('pieces replace nothing that is under the key', async (world) => {
      const store = await world.connect();
      const upload = await uploaded(store);
      await store.create(KEY, bytesOf('first'));
      expect(await upload.complete()).toBe('exists');
      expect(await store.read(KEY)).toEqual(bytesOf('first'));
      const late = await uploaded(store);
      expect(await late.complete()).toBe('exists');
      expect(await store.create(KEY, bytesOf('second'))).toBe('exists');
      expect(await store.read(KEY)).toEqual(bytesOf('first'));
    });

    test('of two that are written in pieces at once one creates', async (world) => {
      const [one, other] = [await world.connect(), await world.connect()];
      const uploads = await Promise.all([uploaded(one), uploaded(other)]);
      const answers = await Promise.all(uploads.map((upload) => upload.complete()));
      expect(answers.toSorted()).toEqual(['created', 'exists']);
      expect(await isWhole(one)).toBe(true);
    });

    test('of pieces that are abandoned nothing is left', async (world) => {
      const store = await world.connect();
      const upload = await uploaded(store);
      await upload.abandon();
      await upload.abandon();
      expect(await store.read(KEY)).toBeNull();
      expect(await store.list('', null, 10)).toEqual([]);
      expect(await store.create(KEY, bytesOf('other'))).toBe('created');
    });

    test('pieces under a key that could leave the store are refused', async (world) => {
      const store = await world.connect();
      for (const key of ['', '../x', 'a/', '.hidden']) {
        await expect(store.upload(key), JSON.stringify(key)).rejects.toMatchObject({
          invariant: 'blob-key-is-portable',
        });
      }
    });

    test('pieces that were written before a restart are there after it, if they were complete', async (world) => {
      const before = await world.connect();
      await (await uploaded(before)).complete();
      await uploaded(before, 'slice/run/2');
      await world.disconnect();
      const after = await world.connect();
      expect(await isWhole(after)).toBe(true);
      expect(await after.read('slice/run/2')).toBeNull();
      expect((await after.list('', null, 10)).map(({ key }) => key)).toEqual([KEY]);
    });
  });
}
