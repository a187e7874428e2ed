/**
 * The guarantees of `CheckpointStore`, for every implementation.
 */
import { expect } from 'vitest';
import type { CheckpointStore, HeadItem } from '../../core/ports.ts';
import { sortablePosition } from '../../core/position.ts';
import { bytesOf, type Contract, describeContract, type World } from './contract.ts';

const APPLIED = { outcome: 'applied' };

function delivered(sequenceNumber: string): string {
  return sortablePosition({ sequenceNumber, subSequence: 0 });
}

function head(revision: number, overrides: Partial<HeadItem> = {}): HeadItem {
  return {
    sliceId: 'slice-a',
    revision,
    delivered: delivered('1000'),
    body: bytesOf(`body ${revision}`),
    ...overrides,
  };
}

export function checkpointStoreContract(contract: Contract<World<CheckpointStore>>): void {
  describeContract('CheckpointStore', contract, (test) => {
    test('a slice without a HEAD has none', async (world) => {
      const store = await world.connect();
      expect(await store.readHead('slice-a')).toBeNull();
      expect(await store.listHeads()).toEqual([]);
    });

    test('a HEAD that was created is read as it was written', async (world) => {
      const store = await world.connect();
      const body = Uint8Array.from({ length: 256 }, (_, index) => index);
      expect(await store.createHead(head(1, { body }))).toEqual(APPLIED);
      expect(await store.readHead('slice-a')).toEqual(head(1, { body }));
    });

    test('a HEAD may have an empty body', async (world) => {
      const store = await world.connect();
      await store.createHead(head(1, { body: new Uint8Array(0) }));
      expect((await store.readHead('slice-a'))?.body).toEqual(new Uint8Array(0));
    });

    test('a second creation is refused and shows the first', async (world) => {
      const store = await world.connect();
      await store.createHead(head(1));
      const second = head(1, { body: bytesOf('second') });
      expect(await store.createHead(second)).toEqual({ outcome: 'refused', current: head(1) });
      expect(await store.readHead('slice-a')).toEqual(head(1));
    });

    test('a hold stands beside HEAD, for all to see, and moves nothing', async (world) => {
      const [one, other] = [await world.connect(), await world.connect()];
      await one.createHead(head(1));
      await one.holdHead('slice-a', 'first', null);
      await one.holdHead('slice-a', 'second', 'first');
      const held = { ...head(1), hold: 'second' };
      expect(await other.readHead('slice-a')).toEqual(held);
      expect(await other.listHeads()).toEqual([held]);
      await other.holdHead('slice-a', null, 'second');
      expect(await one.readHead('slice-a')).toEqual(head(1));
    });

    test('a hold refuses every write of HEAD but one that names it, which ends it', async (world) => {
      const store = await world.connect();
      await store.createHead(head(1));
      await store.holdHead('slice-a', 'first', null);
      const held = { ...head(1), hold: 'first' };
      for (const passing of [null, 'another']) {
        expect(await store.writeHead(head(2), 1, passing)).toEqual({
          outcome: 'refused',
          current: held,
        });
      }
      expect(await store.writeHead(head(3), 2, 'first')).toMatchObject({ outcome: 'refused' });
      expect(await store.readHead('slice-a')).toEqual(held);
      expect(await store.writeHead(head(2), 1, 'first')).toEqual(APPLIED);
      expect(await store.readHead('slice-a')).toEqual(head(2));
    });

    test('a hold is put over no other but the one that is named', async (world) => {
      const store = await world.connect();
      await store.createHead(head(1));
      await store.holdHead('slice-a', 'first', null);
      await store.holdHead('slice-a', 'second', null);
      await store.holdHead('slice-a', 'second', 'third');
      await store.holdHead('slice-a', null, 'third');
      await store.holdHead('slice-a', null, null);
      expect(await store.readHead('slice-a')).toEqual({ ...head(1), hold: 'first' });
      await store.holdHead('slice-a', 'second', 'first');
      expect(await store.readHead('slice-a')).toEqual({ ...head(1), hold: 'second' });
    });

    test('a hold that has gone meanwhile refuses no write', async (world) => {
      const store = await world.connect();
      await store.createHead(head(1));
      expect(await store.writeHead(head(2), 1, 'gone')).toEqual(APPLIED);
    });

    test('a slice without a HEAD is not held', async (world) => {
      const store = await world.connect();
      await store.holdHead('slice-a', 'first', null);
      expect(await store.readHead('slice-a')).toBeNull();
      expect(await store.createHead(head(1))).toEqual(APPLIED);
      expect(await store.readHead('slice-a')).toEqual(head(1));
    });

    test('a write under the right revision applies', async (world) => {
      const store = await world.connect();
      await store.createHead(head(1));
      const next = head(2, { delivered: delivered('1001') });
      expect(await store.writeHead(next, 1, null)).toEqual(APPLIED);
      expect(await store.readHead('slice-a')).toEqual(next);
    });

    test('a write without a HEAD is refused and shows none', async (world) => {
      const store = await world.connect();
      expect(await store.writeHead(head(2), 1, null)).toEqual({
        outcome: 'refused',
        current: null,
      });
      expect(await store.readHead('slice-a')).toBeNull();
    });

    test('a write under an older or a newer revision is refused and changes nothing', async (world) => {
      const store = await world.connect();
      await store.createHead(head(1));
      await store.writeHead(head(2), 1, null);
      for (const ifRevision of [0, 1, 3]) {
        const stale = head(9, { body: bytesOf('stale') });
        expect(await store.writeHead(stale, ifRevision, null)).toEqual({
          outcome: 'refused',
          current: head(2),
        });
      }
      expect(await store.readHead('slice-a')).toEqual(head(2));
    });

    test('delivered may stay where it is', async (world) => {
      const store = await world.connect();
      await store.createHead(head(1));
      expect(await store.writeHead(head(2), 1, null)).toEqual(APPLIED);
    });

    test('delivered never goes back, even under the right revision', async (world) => {
      const store = await world.connect();
      await store.createHead(head(1));
      // As text without padding "999" would be the greater one.
      const back = head(2, { delivered: delivered('999') });
      expect(await store.writeHead(back, 1, null)).toEqual({
        outcome: 'refused',
        current: head(1),
      });
      expect(await store.readHead('slice-a')).toEqual(head(1));
    });

    test('slices do not see each other', async (world) => {
      const store = await world.connect();
      await store.createHead(head(1));
      await store.createHead(head(1, { sliceId: 'slice-b' }));
      await store.writeHead(head(2), 1, null);
      expect(await store.readHead('slice-b')).toEqual(head(1, { sliceId: 'slice-b' }));
    });

    test('all HEADs are listed, ordered by slice', async (world) => {
      const store = await world.connect();
      const sliceIds = [
        'slice-b',
        'slice',
        'slice-a0',
        'slice-a',
        'slice-B',
        'slice-a-1',
        'slice_a',
      ];
      for (const sliceId of sliceIds) await store.createHead(head(1, { sliceId }));
      await store.writeHead(head(2), 1, null);
      const listed = await store.listHeads();
      expect(listed.map(({ sliceId }) => sliceId)).toEqual([
        ...['slice', 'slice-B', 'slice-a', 'slice-a-1', 'slice-a0', 'slice-b', 'slice_a'],
      ]);
      expect(listed[2]).toEqual(head(2));
    });

    test('changing bytes that were passed in or given out changes nothing stored', async (world) => {
      const store = await world.connect();
      const mine = head(1);
      const creation = store.createHead(mine);
      mine.body.fill(0);
      await creation;
      const next = head(2);
      const write = store.writeHead(next, 1, null);
      next.body.fill(0);
      await write;
      (await store.readHead('slice-a'))?.body.fill(0);
      for (const listed of await store.listHeads()) listed.body.fill(0);
      const refused = await store.createHead(head(1));
      if (refused.outcome === 'refused') refused.current?.body.fill(0);
      expect(await store.readHead('slice-a')).toEqual(head(2));
    });

    test('a body that is a part of a larger buffer is stored alone', async (world) => {
      const store = await world.connect();
      const body = bytesOf('before|body|after').subarray(7, 11);
      await store.createHead(head(1, { body }));
      expect((await store.readHead('slice-a'))?.body).toEqual(bytesOf('body'));
    });

    test('a connection sees what another has written', async (world) => {
      const [one, other] = [await world.connect(), await world.connect()];
      await one.createHead(head(1));
      expect(await other.readHead('slice-a')).toEqual(head(1));
      await other.writeHead(head(2), 1, null);
      expect(await one.readHead('slice-a')).toEqual(head(2));
      expect(await one.listHeads()).toEqual([head(2)]);
    });

    test('of two connections that write under one revision the later loses and sees the winner', async (world) => {
      const [one, other] = [await world.connect(), await world.connect()];
      await one.createHead(head(1));
      const [ours, theirs] = [head(2, { body: bytesOf('ours') }), head(2, { body: bytesOf('no') })];
      expect(await one.writeHead(ours, 1, null)).toEqual(APPLIED);
      expect(await other.writeHead(theirs, 1, null)).toEqual({ outcome: 'refused', current: ours });
    });

    test('of many creations at once exactly one applies', async (world) => {
      const stores = [await world.connect(), await world.connect()];
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          (stores[index % 2] as CheckpointStore).createHead(head(1, { body: bytesOf(`${index}`) })),
        ),
      );
      const winner = answers.findIndex(({ outcome }) => outcome === 'applied');
      expect(answers.filter(({ outcome }) => outcome === 'applied')).toHaveLength(1);
      const current = head(1, { body: bytesOf(`${winner}`) });
      for (const [index, answer] of answers.entries()) {
        if (index !== winner) expect(answer).toEqual({ outcome: 'refused', current });
      }
    });

    test('of many writers that retry each applies once, and no revision is written twice', async (world) => {
      const stores = [await world.connect(), await world.connect()];
      await (stores[0] as CheckpointStore).createHead(head(0));
      const written: number[] = [];
      const write = async (store: CheckpointStore): Promise<void> => {
        for (let attempt = 0; attempt < 1000; attempt++) {
          const revision = (await store.readHead('slice-a'))?.revision ?? 0;
          const answer = await store.writeHead(head(revision + 1), revision, null);
          if (answer.outcome === 'refused') continue;
          written.push(revision + 1);
          return;
        }
        throw new Error('a writer loses every race');
      };
      await Promise.all(
        Array.from({ length: 20 }, (_, index) => write(stores[index % 2] as CheckpointStore)),
      );
      expect(written.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
      expect(await (stores[1] as CheckpointStore).readHead('slice-a')).toEqual(head(20));
    });

    test('what was written is there after a restart', async (world) => {
      const before = await world.connect();
      await before.createHead(head(1));
      await before.writeHead(head(2), 1, null);
      await world.disconnect();
      const after = await world.connect();
      expect(await after.readHead('slice-a')).toEqual(head(2));
      expect(await after.writeHead(head(3), 2, null)).toEqual(APPLIED);
    });
  });
}
