import { describe, expect, it } from 'vitest';
import { MemoryBlobStore } from '../../../adapters/memory/memory-blob-store.ts';
import { MemoryClock } from '../../../adapters/memory/memory-clock.ts';
import {
  DamagedBlob,
  MissingBlob,
  readBlob,
  readBlobRange,
  writeBlob,
} from '../../../core/checkpoint/blobs.ts';
import { sealEnvelope } from '../../../core/checkpoint/envelope.ts';
import { blobKey } from '../../../core/checkpoint/names.ts';
import { CorruptStateFault, InvariantFault } from '../../../core/faults.ts';
import { DELTA_ITEM_BYTES_MAX } from '../../../core/limits.ts';
import { SLICE } from '../../world/small-log.ts';
import { overriding } from '../task/task-fixture.ts';

const name = { kind: 'delta', timeline: 0, epoch: 1, nonce: '0000000000000001' } as const;
const bytes = Uint8Array.from({ length: 100 }, (_, index) => index);

function newStores() {
  const clock = new MemoryClock(0);
  return { items: new MemoryBlobStore(clock), objects: new MemoryBlobStore(clock) };
}

describe('a blob', () => {
  it('comes back whole by its reference', async () => {
    const stores = newStores();
    const reference = await writeBlob(stores, SLICE, name, bytes);
    expect(reference).toMatchObject({ ...name, place: 'item', byteLength: 100 });
    expect(await readBlob(stores, SLICE, reference)).toEqual(bytes);
  });

  it.each([
    ['delta', DELTA_ITEM_BYTES_MAX, 'item'],
    ['delta', DELTA_ITEM_BYTES_MAX + 1, 'object'],
    ['base', 1, 'object'],
    ['run', 1, 'object'],
  ] as const)('is kept by kind and size: a %s of %i bytes as %s', async (kind, length, place) => {
    const stores = newStores();
    const reference = await writeBlob(stores, SLICE, { ...name, kind }, new Uint8Array(length));
    expect(reference.place).toBe(place);
    expect(await stores.items.list('', null, 9)).toHaveLength(place === 'item' ? 1 : 0);
    expect(await stores.objects.list('', null, 9)).toHaveLength(place === 'item' ? 0 : 1);
  });

  it('may be written again by the one whose answer was lost', async () => {
    const stores = newStores();
    const reference = await writeBlob(stores, SLICE, name, bytes);
    expect(await writeBlob(stores, SLICE, name, bytes)).toEqual(reference);
  });

  it('never takes the name of another', async () => {
    const stores = newStores();
    await writeBlob(stores, SLICE, name, bytes);
    const other = writeBlob(stores, SLICE, name, Uint8Array.from([...bytes].reverse()));
    await expect(other).rejects.toThrow(InvariantFault);
  });

  it('is read again where it came badly, and is damaged where it does so each time', async () => {
    const stores = newStores();
    const reference = await writeBlob(stores, SLICE, name, bytes);
    const comingBadly = (times: number) => {
      let reads = 0;
      const read = async (key: string) => {
        const there = await stores.items.read(key);
        return reads++ < times ? (there?.fill(0, 50) ?? null) : there;
      };
      return { ...stores, items: overriding(stores.items, { read }) };
    };
    expect(await readBlob(comingBadly(2), SLICE, reference)).toEqual(bytes);
    await expect(readBlob(comingBadly(3), SLICE, reference)).rejects.toThrow(DamagedBlob);
  });

  it('that is not there says so, so that a reader looks at HEAD again', async () => {
    const stores = newStores();
    const reference = await writeBlob(stores, SLICE, name, bytes);
    await stores.items.delete([blobKey(SLICE, name)]);
    await expect(readBlob(stores, SLICE, reference)).rejects.toThrow(MissingBlob);
    await expect(readBlobRange(stores, SLICE, reference, 0, 1)).rejects.toThrow(MissingBlob);
  });

  it('is refused where another one lies under its key', async () => {
    const stores = newStores();
    const reference = await writeBlob(stores, SLICE, name, bytes);
    for (const wrong of [Uint8Array.from([...bytes].reverse()), bytes.slice(0, 99)]) {
      await stores.items.delete([blobKey(SLICE, name)]);
      await stores.items.create(blobKey(SLICE, name), wrong);
      const read = readBlob(stores, SLICE, reference);
      await expect(read).rejects.toThrow(CorruptStateFault);
      await expect(read).rejects.not.toThrow(MissingBlob);
      await expect(read).rejects.toThrow(blobKey(SLICE, name));
    }
  });

  it('is told from another of the same length, though each ends with the checksum of all before it', async () => {
    const stores = newStores();
    const sealed = [1, 2].map((byte) => sealEnvelope('TMDL', (writer) => writer.u8(byte)));
    const [one, two] = sealed as [Uint8Array, Uint8Array];
    const reference = await writeBlob(stores, SLICE, name, one);
    await stores.items.delete([blobKey(SLICE, name)]);
    await stores.items.create(blobKey(SLICE, name), two);
    await expect(readBlob(stores, SLICE, reference)).rejects.toThrow(CorruptStateFault);
  });

  it('gives ranges, and refuses one beyond its end', async () => {
    const stores = newStores();
    const reference = await writeBlob(stores, SLICE, name, bytes);
    expect([...(await readBlobRange(stores, SLICE, reference, 97, 100))]).toEqual([97, 98, 99]);
    const beyond = readBlobRange(stores, SLICE, reference, 97, 101);
    await expect(beyond).rejects.toThrow(CorruptStateFault);
  });
});
