/**
 * The guarantees of `SuspicionStore`, for every implementation.
 */
import { expect } from 'vitest';
import type { Suspicion, SuspicionStore } from '../../core/ports.ts';
import { START } from '../../core/position.ts';
import { type Contract, describeContract, ODD_TEXTS, type World } from './contract.ts';

const SLICE = 'slice-a';

function suspicion(attempts: number, overrides: Partial<Suspicion> = {}): Suspicion {
  const position = { sequenceNumber: '9'.repeat(56), subSequence: 2 };
  return { position, attempts, chunkRecords: 1250, ...overrides };
}

export function suspicionStoreContract(contract: Contract<World<SuspicionStore>>): void {
  describeContract('SuspicionStore', contract, (test) => {
    test('a slice that was never suspected has no suspicion', async (world) => {
      const store = await world.connect();
      expect(await store.read(SLICE)).toBeNull();
      await store.write(SLICE, null);
      expect(await store.read(SLICE)).toBeNull();
    });

    test('a suspicion is read as it was written', async (world) => {
      const store = await world.connect();
      const written = [
        suspicion(0),
        suspicion(1, { position: START }),
        suspicion(2, { position: { sequenceNumber: '1', subSequence: 2 ** 32 - 1 } }),
        suspicion(3, { chunkRecords: 1 }),
        suspicion(Number.MAX_SAFE_INTEGER, { chunkRecords: Number.MAX_SAFE_INTEGER }),
      ];
      for (const each of written) {
        await store.write(SLICE, each);
        expect(await store.read(SLICE)).toEqual(each);
      }
    });

    test('a later write replaces all of it, whatever the position', async (world) => {
      const store = await world.connect();
      await store.write(SLICE, suspicion(5));
      const next = suspicion(0, { position: { sequenceNumber: '3', subSequence: 0 } });
      await store.write(SLICE, { ...next, chunkRecords: 10_000 });
      expect(await store.read(SLICE)).toEqual({ ...next, chunkRecords: 10_000 });
    });

    test('null clears it, and it may come back', async (world) => {
      const store = await world.connect();
      await store.write(SLICE, suspicion(1));
      await store.write(SLICE, null);
      expect(await store.read(SLICE)).toBeNull();
      await store.write(SLICE, suspicion(2));
      expect(await store.read(SLICE)).toEqual(suspicion(2));
    });

    test('slices do not see each other, whatever their ids', async (world) => {
      const store = await world.connect();
      const slices = [...ODD_TEXTS, 'slice', 'slice-a', 'slice-A', 'slice-a0', 'slice-%'];
      for (const [at, sliceId] of slices.entries()) await store.write(sliceId, suspicion(at));
      await store.write('slice-a', null);
      for (const [at, sliceId] of slices.entries()) {
        const expected = sliceId === 'slice-a' ? null : suspicion(at);
        expect(await store.read(sliceId), JSON.stringify(sliceId)).toEqual(expected);
      }
    });

    test('changing what was passed in or given out changes nothing stored', async (world) => {
      const store = await world.connect();
      const position = { sequenceNumber: '5', subSequence: 0 };
      await store.write(SLICE, suspicion(1, { position }));
      position.sequenceNumber = '6';
      Object.assign(((await store.read(SLICE)) as Suspicion).position, { sequenceNumber: '7' });
      expect((await store.read(SLICE))?.position).toEqual({ sequenceNumber: '5', subSequence: 0 });
    });

    test('of two connections the last that wrote wins, and both see it', async (world) => {
      const [one, other] = [await world.connect(), await world.connect()];
      await one.write(SLICE, suspicion(1));
      expect(await other.read(SLICE)).toEqual(suspicion(1));
      await other.write(SLICE, suspicion(2));
      expect(await one.read(SLICE)).toEqual(suspicion(2));
      await one.write(SLICE, null);
      expect(await other.read(SLICE)).toBeNull();
      await Promise.all([one.write('slice-b', suspicion(3)), other.write('slice-b', suspicion(4))]);
      const winner = await one.read('slice-b');
      expect([suspicion(3), suspicion(4)]).toContainEqual(winner);
      expect(await other.read('slice-b')).toEqual(winner);
    });

    test('what was written is there after a restart', async (world) => {
      const before = await world.connect();
      await before.write('slice-a', suspicion(1));
      await before.write('slice-b', suspicion(1));
      await before.write('slice-b', null);
      await world.disconnect();
      const after = await world.connect();
      expect(await after.read('slice-a')).toEqual(suspicion(1));
      expect(await after.read('slice-b')).toBeNull();
    });
  });
}
