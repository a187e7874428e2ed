/**
 * The guarantees of `PlanRegistry`, for every implementation.
 */
import { expect } from 'vitest';
import type { ActivePlan, PlanRegistry } from '../../core/ports.ts';
import { type Contract, describeContract, ODD_TEXTS, type World } from './contract.ts';

function plan(ordinal: number, overrides: Partial<ActivePlan> = {}): ActivePlan {
  const hash = String(ordinal).padStart(32, '0');
  return { ordinal, hash, pipeline: `{"name":"flights","version":${ordinal}}`, ...overrides };
}

export function planRegistryContract(contract: Contract<World<PlanRegistry>>): void {
  describeContract('PlanRegistry', contract, (test) => {
    test('nothing is active before the first activation', async (world) => {
      expect(await (await world.connect()).active()).toBeNull();
    });

    test('the first activation has ordinal 1', async (world) => {
      const registry = await world.connect();
      for (const ordinal of [-1, 0, 2, 100]) {
        expect(await registry.activate(plan(ordinal)), `${ordinal}`).toBe('refused');
      }
      expect(await registry.active()).toBeNull();
      expect(await registry.activate(plan(1))).toBe('applied');
      expect(await registry.active()).toEqual(plan(1));
    });

    test('an activation that follows the newest applies', async (world) => {
      const registry = await world.connect();
      for (let ordinal = 1; ordinal <= 12; ordinal++) {
        expect(await registry.activate(plan(ordinal))).toBe('applied');
        expect(await registry.active()).toEqual(plan(ordinal));
      }
    });

    test('any other ordinal is refused and changes nothing', async (world) => {
      const registry = await world.connect();
      for (const ordinal of [1, 2, 3]) await registry.activate(plan(ordinal));
      for (const ordinal of [0, 1, 2, 3, 5, -1]) {
        const other = plan(ordinal, { hash: 'other', pipeline: 'other' });
        expect(await registry.activate(other), `${ordinal}`).toBe('refused');
      }
      expect(await registry.activate(plan(3))).toBe('refused');
      expect(await registry.active()).toEqual(plan(3));
    });

    test('a rollback is an activation of an old hash under a new ordinal', async (world) => {
      const registry = await world.connect();
      await registry.activate(plan(1));
      await registry.activate(plan(2));
      expect(await registry.activate({ ...plan(1), ordinal: 3 })).toBe('applied');
      expect(await registry.active()).toEqual({ ...plan(1), ordinal: 3 });
    });

    test('any text of a pipeline survives', async (world) => {
      const registry = await world.connect();
      const texts = [...ODD_TEXTS, `"${'ü'.repeat(300_000)}"`];
      for (const [at, pipeline] of texts.entries()) {
        expect(await registry.activate(plan(at + 1, { pipeline }))).toBe('applied');
        expect((await registry.active())?.pipeline === pipeline, `text ${at}`).toBe(true);
      }
    });

    test('changing what was passed in or given out changes nothing stored', async (world) => {
      const registry = await world.connect();
      const mine = { ...plan(1) };
      await registry.activate(mine);
      mine.hash = 'changed';
      Object.assign((await registry.active()) as ActivePlan, { ordinal: 7 });
      expect(await registry.active()).toEqual(plan(1));
      expect(await registry.activate(plan(2))).toBe('applied');
    });

    test('a connection sees what another has activated', async (world) => {
      const [one, other] = [await world.connect(), await world.connect()];
      await one.activate(plan(1));
      expect(await other.active()).toEqual(plan(1));
      expect(await other.activate(plan(1))).toBe('refused');
      expect(await other.activate(plan(2))).toBe('applied');
      expect(await one.active()).toEqual(plan(2));
      expect(await one.activate(plan(2))).toBe('refused');
    });

    test('of many activations under one ordinal at once exactly one applies', async (world) => {
      const registries = [await world.connect(), await world.connect()];
      for (const ordinal of [1, 2]) {
        const answers = await Promise.all(
          Array.from({ length: 40 }, (_, at) =>
            (registries[at % 2] as PlanRegistry).activate(plan(ordinal, { hash: `writer ${at}` })),
          ),
        );
        const winner = answers.indexOf('applied');
        expect(answers.filter((answer) => answer === 'applied')).toHaveLength(1);
        for (const registry of registries) {
          expect(await registry.active()).toEqual(plan(ordinal, { hash: `writer ${winner}` }));
        }
      }
    });

    test('of many that retry each activates once, and no ordinal is used twice', async (world) => {
      const registries = [await world.connect(), await world.connect()];
      const used: number[] = [];
      const activate = async (registry: PlanRegistry): Promise<void> => {
        for (let attempt = 0; attempt < 1000; attempt++) {
          const ordinal = ((await registry.active())?.ordinal ?? 0) + 1;
          if ((await registry.activate(plan(ordinal))) === 'refused') continue;
          used.push(ordinal);
          return;
        }
        throw new Error('a writer loses every race');
      };
      await Promise.all(
        Array.from({ length: 20 }, (_, at) => activate(registries[at % 2] as PlanRegistry)),
      );
      expect(used.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
    });

    test('what was activated is there after a restart', async (world) => {
      const before = await world.connect();
      await before.activate(plan(1));
      await before.activate(plan(2));
      await world.disconnect();
      const after = await world.connect();
      expect(await after.active()).toEqual(plan(2));
      expect(await after.activate(plan(2))).toBe('refused');
      expect(await after.activate(plan(3))).toBe('applied');
    });
  });
}
