/**
 * The guarantees of `AgeStore`, for every implementation.
 */
import { expect } from 'vitest';
import type { AgeStore } from '../../core/ports.ts';
import { type Contract, describeContract, ODD_TEXTS, type World } from './contract.ts';

export function ageStoreContract(contract: Contract<World<AgeStore>>): void {
  describeContract('AgeStore', contract, (test) => {
    test('a slice that no tick has looked at is absent', async (world) => {
      const store = await world.connect();
      expect(await store.read([])).toEqual(new Map());
      expect(await store.read(['slice-a', 'slice-b'])).toEqual(new Map());
    });

    test('the last write of a slice is what is read, by all', async (world) => {
      const [one, other] = [await world.connect(), await world.connect()];
      await one.write({ sliceId: 'slice-a', behindMs: 5, atMs: 1_700_000_000_000 });
      await other.write({ sliceId: 'slice-a', behindMs: 0, atMs: 1_600_000_000_000 });
      const age = { sliceId: 'slice-a', behindMs: 0, atMs: 1_600_000_000_000 };
      expect(await one.read(['slice-a', 'slice-b'])).toEqual(new Map([['slice-a', age]]));
    });

    test('slices do not see each other, whatever their ids and however many', async (world) => {
      const store = await world.connect();
      const many = Array.from({ length: 120 }, (_, index) => `slice-${index}`);
      const sliceIds = [...ODD_TEXTS, ...many];
      const ages = sliceIds.map((sliceId, at) => ({ sliceId, behindMs: at, atMs: at }));
      await Promise.all(ages.map((age) => store.write(age)));
      const found = await store.read(sliceIds);
      expect(sliceIds.map((sliceId) => found.get(sliceId))).toEqual(ages);
    });
  });
}
