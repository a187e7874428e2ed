/**
 * The guarantees of `Inbox`, for every implementation.
 */
import { expect } from 'vitest';
import type { Inbox, RedriveOutcome, RedriveRequest } from '../../core/ports.ts';
import { type Contract, describeContract, ODD_TEXTS, type World } from './contract.ts';

const SLICE = 'slice-a';

function request(overrides: Partial<RedriveRequest> = {}): RedriveRequest {
  return {
    id: '001700000000123-2ee24361851bc86b',
    sliceId: SLICE,
    records: ['slice-a/000000000000/7', 'slice-a/000000000000/8'],
    done: null,
    ...overrides,
  };
}

function outcome(epoch = 9): RedriveOutcome {
  return {
    timeline: 0,
    epoch,
    redriven: ['slice-a/000000000000/7'],
    refused: [{ id: 'slice-a/000000000000/8', reason: 'not-quarantined' }],
  };
}

async function idsOf(inbox: Inbox, sliceId: string, after: string | null = null) {
  return (await inbox.list(sliceId, after, 1000)).map(({ id }) => id);
}

export function inboxContract(contract: Contract<World<Inbox>>): void {
  describeContract('Inbox', contract, (test) => {
    test('an empty inbox lists nothing', async (world) => {
      expect(await (await world.connect()).list(SLICE, null, 10)).toEqual([]);
    });

    test('a request is listed as it was put', async (world) => {
      const inbox = await world.connect();
      const requests = [
        request({ id: '1' }),
        request({ id: '2', records: [] }),
        request({ id: '3', done: outcome() }),
      ];
      for (const each of requests) await inbox.put(each);
      expect(await inbox.list(SLICE, null, 10)).toEqual(requests);
    });

    test('counts how often each request was begun', async (world) => {
      const inbox = await world.connect();
      await inbox.put(request({ id: '1' }));
      await inbox.put(request({ id: '2' }));
      expect(await inbox.begin(SLICE, '1')).toBe(1);
      expect(await (await world.connect()).begin(SLICE, '1')).toBe(2);
      expect(await inbox.begin(SLICE, '2')).toBe(1);
      expect(await inbox.begin(SLICE, 'nobody')).toBe(1);
      expect(await inbox.list(SLICE, null, 10)).toEqual([
        request({ id: '1' }),
        request({ id: '2' }),
      ]);
    });

    test('counts from 0 again once a request is settled', async (world) => {
      const inbox = await world.connect();
      for (const id of ['1', '2']) {
        await inbox.put(request({ id }));
        await inbox.begin(SLICE, id);
      }
      await (await world.connect()).settle(SLICE, '1');
      await inbox.settle(SLICE, 'nobody');
      expect(await inbox.begin(SLICE, '1')).toBe(1);
      expect(await inbox.begin(SLICE, '2')).toBe(2);
      expect(await inbox.list(SLICE, null, 10)).toHaveLength(2);
    });

    test('a request for very many records is kept whole', async (world) => {
      const inbox = await world.connect();
      const records = Array.from({ length: 10_000 }, (_, at) => `slice-a/000000000000/${at}`);
      const done = { ...outcome(), redriven: records };
      await inbox.put(request({ records }));
      await inbox.finish(SLICE, request().id, done);
      expect(await inbox.list(SLICE, null, 1)).toEqual([request({ records, done })]);
    });

    test('any text survives, and no two ids are taken for one', async (world) => {
      const inbox = await world.connect();
      const done = { ...outcome(), redriven: ODD_TEXTS, refused: [] };
      const refused = ODD_TEXTS.map((text) => ({ id: text, reason: text }));
      for (const sliceId of ODD_TEXTS) {
        for (const id of ODD_TEXTS) await inbox.put(request({ sliceId, id, records: [sliceId] }));
        await inbox.finish(sliceId, ODD_TEXTS[1] as string, { ...done, refused });
      }
      for (const sliceId of ODD_TEXTS) {
        const listed = await inbox.list(sliceId, null, 100);
        expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(ODD_TEXTS));
        for (const each of listed) {
          const isDone = each.id === ODD_TEXTS[1];
          const expected = isDone ? { ...done, refused } : null;
          expect(each).toEqual(
            request({ sliceId, id: each.id, records: [sliceId], done: expected }),
          );
        }
        await inbox.delete(sliceId, ODD_TEXTS.slice(2));
        expect(await idsOf(inbox, sliceId)).toHaveLength(2);
      }
    });

    test('a repeat of put leaves what is there as it is, and its outcome', async (world) => {
      const inbox = await world.connect();
      await inbox.put(request());
      await inbox.put(request({ records: ['other'], done: outcome() }));
      expect(await inbox.list(SLICE, null, 10)).toEqual([request()]);
      await inbox.finish(SLICE, request().id, outcome());
      await inbox.put(request());
      expect(await inbox.list(SLICE, null, 10)).toEqual([request({ done: outcome() })]);
    });

    test('an outcome may be replaced', async (world) => {
      const inbox = await world.connect();
      await inbox.put(request());
      await inbox.finish(SLICE, request().id, outcome(9));
      await inbox.finish(SLICE, request().id, outcome(4));
      expect(await inbox.list(SLICE, null, 10)).toEqual([request({ done: outcome(4) })]);
    });

    test('the outcome of a request that is not there makes none', async (world) => {
      const inbox = await world.connect();
      await inbox.put(request({ id: '1' }));
      await inbox.finish(SLICE, '2', outcome());
      await inbox.finish('slice-b', '1', outcome());
      await inbox.delete(SLICE, ['3']);
      await inbox.finish(SLICE, '3', outcome());
      expect(await inbox.list(SLICE, null, 10)).toEqual([request({ id: '1' })]);
      expect(await inbox.list('slice-b', null, 10)).toEqual([]);
    });

    test('requests are ordered by id, whatever the order they came in', async (world) => {
      const inbox = await world.connect();
      const ordered = ['1', '1-a', '10', '2', '9', 'A', 'a', 'a-', 'a0', 'aa'];
      for (const id of [...ordered].reverse()) await inbox.put(request({ id }));
      await inbox.finish(SLICE, '2', outcome());
      expect(await idsOf(inbox, SLICE)).toEqual(ordered);
    });

    test('pages tile the listing', async (world) => {
      const inbox = await world.connect();
      const ids = Array.from({ length: 47 }, (_, at) => String((at * 31) % 47).padStart(3, '0'));
      for (const id of ids) {
        await inbox.put(request({ id }));
        await inbox.put(request({ id, sliceId: 'slice-b' }));
      }
      const paged: string[] = [];
      for (let after: string | null = null; ; ) {
        const page: RedriveRequest[] = await inbox.list(SLICE, after, 10);
        paged.push(...page.map(({ id }) => id));
        if (page.length < 10) break;
        after = paged.at(-1) as string;
      }
      expect(paged).toEqual([...ids].sort());
      expect(await inbox.list(SLICE, paged.at(-1) as string, 10)).toEqual([]);
    });

    test('a listing goes on after an id that is not there', async (world) => {
      const inbox = await world.connect();
      for (const id of ['b', 'd']) await inbox.put(request({ id }));
      expect(await idsOf(inbox, SLICE, 'a')).toEqual(['b', 'd']);
      expect(await idsOf(inbox, SLICE, 'b-')).toEqual(['d']);
      expect(await idsOf(inbox, SLICE, 'c')).toEqual(['d']);
      expect(await idsOf(inbox, SLICE, 'e')).toEqual([]);
    });

    test('slices do not see each other', async (world) => {
      const inbox = await world.connect();
      const slices = ['slice-a', 'slice-A', 'slice', 'slice-a0', 'slice-%', 'slice_a'];
      for (const sliceId of slices) await inbox.put(request({ sliceId }));
      await inbox.finish('slice-a', request().id, outcome());
      await inbox.delete('slice', [request().id]);
      for (const sliceId of slices) {
        const done = sliceId === 'slice-a' ? outcome() : null;
        const expected = sliceId === 'slice' ? [] : [request({ sliceId, done })];
        expect(await inbox.list(sliceId, null, 10), sliceId).toEqual(expected);
      }
    });

    test('deletions take what is there and do not mind the rest', async (world) => {
      const inbox = await world.connect();
      for (const id of ['1', '2', '3']) await inbox.put(request({ id, done: outcome() }));
      await inbox.delete(SLICE, ['1', 'missing', '3', '1']);
      await inbox.delete(SLICE, []);
      await inbox.delete('slice-b', ['2']);
      expect(await idsOf(inbox, SLICE)).toEqual(['2']);
      await inbox.put(request({ id: '1' }));
      expect((await inbox.list(SLICE, null, 1))[0]).toEqual(request({ id: '1' }));
    });

    test('changing what was passed in or given out changes nothing stored', async (world) => {
      const inbox = await world.connect();
      const [records, redriven] = [['7'], ['7']];
      const refused = [{ id: '8', reason: 'gone' }];
      const done = { timeline: 0, epoch: 3, redriven, refused };
      await inbox.put(request({ records, done }));
      await inbox.put(request({ id: 'finished' }));
      await inbox.finish(SLICE, 'finished', done);
      const before = structuredClone(await inbox.list(SLICE, null, 10));
      records.push('9');
      redriven.push('9');
      refused.pop();
      for (const each of await inbox.list(SLICE, null, 10)) {
        (each.records as string[]).push('9');
        ((each.done as RedriveOutcome).redriven as string[]).push('9');
      }
      expect(await inbox.list(SLICE, null, 10)).toEqual(before);
      expect(before[0]?.records).toEqual(['7']);
      expect(before[1]?.done?.refused).toEqual([{ id: '8', reason: 'gone' }]);
    });

    test('a connection sees what another has put, finished or deleted', async (world) => {
      const [one, other] = [await world.connect(), await world.connect()];
      await one.put(request());
      expect(await other.list(SLICE, null, 10)).toEqual([request()]);
      await other.finish(SLICE, request().id, outcome());
      expect(await one.list(SLICE, null, 10)).toEqual([request({ done: outcome() })]);
      await one.delete(SLICE, [request().id]);
      expect(await other.list(SLICE, null, 10)).toEqual([]);
    });

    test('of many puts of one id at once one stays, and all see the same', async (world) => {
      const inboxes = [await world.connect(), await world.connect()] as const;
      const writers = Array.from({ length: 40 }, (_, at) => [`writer ${at}`]);
      await Promise.all(
        writers.map((records, at) => inboxes[at % 2 === 0 ? 0 : 1].put(request({ records }))),
      );
      const [first, ...others] = await inboxes[0].list(SLICE, null, 10);
      expect(others).toEqual([]);
      expect(writers).toContainEqual(first?.records);
      await inboxes[1].put(request({ records: ['late'] }));
      expect(await inboxes[1].list(SLICE, null, 10)).toEqual([first]);
    });

    test('outcomes and repeats of put that come at once leave the outcome', async (world) => {
      const [one, other] = [await world.connect(), await world.connect()];
      const ids = Array.from({ length: 20 }, (_, at) => String(at).padStart(2, '0'));
      for (const id of ids) await one.put(request({ id }));
      await Promise.all(
        ids.flatMap((id) => [
          ...[other.put(request({ id })), one.finish(SLICE, id, outcome())],
          other.put(request({ id })),
        ]),
      );
      const done = ids.map((id) => request({ id, done: outcome() }));
      expect(await other.list(SLICE, null, 100)).toEqual(done);
    });

    test('what was put is there after a restart', async (world) => {
      const before = await world.connect();
      for (const id of ['1', '2', '3']) await before.put(request({ id }));
      await before.finish(SLICE, '2', outcome());
      await before.delete(SLICE, ['3']);
      await world.disconnect();
      const after = await world.connect();
      expect(await after.list(SLICE, null, 10)).toEqual([
        request({ id: '1' }),
        request({ id: '2', done: outcome() }),
      ]);
    });
  });
}
