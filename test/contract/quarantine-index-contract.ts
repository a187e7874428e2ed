/**
 * The guarantees of `QuarantineIndex`, for every implementation.
 */
import { expect } from 'vitest';
import {
  ALL_QUARANTINED,
  type QuarantinedRecord,
  type QuarantineIndex,
  type QuarantineSelection,
  quarantineId,
} from '../../core/ports.ts';
import {
  bytesOf,
  type Contract,
  describeContract,
  ODD_TEXTS,
  patternOf,
  type World,
} from './contract.ts';

function quarantined(overrides: Partial<QuarantinedRecord> = {}): QuarantinedRecord {
  return {
    sliceId: 'slice-a',
    shardId: 'shardId-000000000000',
    timeline: 0,
    epoch: 7,
    sequenceNumber: '49590338271490256608559692538361571095921575989136588898',
    subSequence: 0,
    partitionKey: 'key',
    arrivalMs: 1_700_000_000_123,
    reason: 'not-json',
    detail: 'Unexpected end of JSON input',
    planHash: '0123456789abcdef0123456789abcdef',
    data: bytesOf('{"a":'),
    ...overrides,
  };
}

async function read(index: QuarantineIndex, id: string) {
  return (await index.read([id])).get(id) ?? null;
}

/** A commit of so many records, for two reasons by turns. */
function commitOf(count: number, overrides: Partial<QuarantinedRecord> = {}): QuarantinedRecord[] {
  return Array.from({ length: count }, (_, at) =>
    quarantined({
      ...overrides,
      sequenceNumber: `${1_000 * (overrides.epoch ?? 7) + at}`,
      reason: at % 2 === 0 ? 'not-json' : 'wrong-type',
      arrivalMs: 1_700_000_000_000 + at,
      data: patternOf(3_000, at),
    }),
  );
}

export function quarantineIndexContract(contract: Contract<World<QuarantineIndex>>): void {
  describeContract('QuarantineIndex', contract, (test) => {
    test('an empty index lists nothing', async (world) => {
      const index = await world.connect();
      await index.put([]);
      expect(await index.list(null, 10)).toEqual([]);
    });

    test('a record is listed whole, as it was put', async (world) => {
      const index = await world.connect();
      const record = quarantined({ data: Uint8Array.from({ length: 256 }, (_, byte) => byte) });
      await index.put([record]);
      expect(await index.list(null, 10)).toEqual([record]);
    });

    test('any text and any bytes survive', async (world) => {
      const index = await world.connect();
      const records = ODD_TEXTS.map((text, at) =>
        quarantined({
          sequenceNumber: `${100 + at}`,
          partitionKey: text,
          detail: text,
          data: at === 0 ? new Uint8Array(0) : bytesOf(text),
        }),
      );
      await index.put(records);
      expect(await index.list(null, 100)).toEqual(records);
    });

    test('a record of 1 MiB is kept whole', async (world) => {
      const index = await world.connect();
      const record = quarantined({ data: patternOf(1024 * 1024, 3) });
      await index.put([record]);
      const [listed] = await index.list(null, 1);
      expect(Buffer.compare(listed?.data as Uint8Array, record.data)).toBe(0);
    });

    test('a repeat of put changes nothing', async (world) => {
      const index = await world.connect();
      const commit = commitOf(5);
      for (const _ of [1, 2]) await index.put(commit);
      expect(await index.list(null, 10)).toEqual(commit);
    });

    test('slice, timeline, sequence number and sub-sequence tell records apart', async (world) => {
      const index = await world.connect();
      await index.put([
        quarantined(),
        quarantined({ sequenceNumber: '6' }),
        quarantined({ subSequence: 1 }),
      ]);
      await index.put([quarantined({ sliceId: 'slice-b' })]);
      await index.put([quarantined({ timeline: 1 })]);
      const ids = (await index.list(null, 10)).map(quarantineId);
      expect(ids).toHaveLength(5);
      expect(new Set(ids).size).toBe(5);
    });

    test('reasons of one commit are listed in one order, by position', async (world) => {
      const index = await world.connect();
      const commits = [commitOf(7), commitOf(5, { epoch: 8 })];
      for (const commit of commits) await index.put([...commit].reverse());
      expect(await index.list(null, 100)).toEqual(commits.flat());
      const [, second] = commits.flat();
      expect(await index.list(quarantineId(second!), 3)).toEqual(commits.flat().slice(2, 5));
    });

    test('a listing without bytes has what is selected, by reason and by arrival', async (world) => {
      const index = await world.connect();
      const commits = [commitOf(40), commitOf(40, { epoch: 8 })];
      for (const commit of commits) await index.put(commit);
      const places = commits.flat().map(({ data: _, ...place }) => place);
      const fromMs = 1_700_000_000_010;
      const selected = async (selection: Partial<QuarantineSelection>, after = null) =>
        index.describe(after, 1_000, { ...ALL_QUARANTINED, ...selection });
      expect(await selected({})).toEqual(places);
      expect(await selected({ reason: 'wrong-type' })).toEqual(
        places.filter(({ reason }) => reason === 'wrong-type'),
      );
      expect(await selected({ fromMs, toMs: fromMs + 5 })).toEqual(
        places.filter(({ arrivalMs }) => arrivalMs >= fromMs && arrivalMs < fromMs + 5),
      );
      expect(await selected({ reason: 'wrong-type', toMs: fromMs, fromMs })).toEqual([]);
      expect(await selected({ fromMs: fromMs + 1_000 })).toEqual([]);
      const [, , third] = places;
      const after = quarantineId(third!);
      expect(await index.describe(after, 4, ALL_QUARANTINED)).toEqual(places.slice(3, 7));
    });

    test('a listing of large records ends early, and goes on', async (world) => {
      const index = await world.connect();
      const records = Array.from({ length: 7 }, (_, at) =>
        quarantined({ sequenceNumber: `${10 + at}`, data: patternOf(1024 * 1024, at) }),
      );
      await index.put(records);
      const found: string[] = [];
      for (let after: string | null = null; ; ) {
        const page: string[] = (await index.list(after, 100)).map(quarantineId);
        if (page.length === 0) break;
        expect(page.length).toBeLessThan(7);
        found.push(...page);
        after = page.at(-1) as string;
      }
      expect(found).toEqual(records.map(quarantineId));
    });

    test('records are ordered by id, whatever the order they came in', async (world) => {
      const index = await world.connect();
      const records = ['10', '9', '100', '99'].map((sequenceNumber) =>
        quarantined({ sequenceNumber }),
      );
      await index.put(records);
      const listed = await index.list(null, 10);
      expect(listed.map(({ sequenceNumber }) => sequenceNumber)).toEqual(['9', '10', '99', '100']);
    });

    test('pages tile the listing', async (world) => {
      const index = await world.connect();
      const records = Array.from({ length: 47 }, (_, at) =>
        quarantined({ sliceId: `slice-${at % 3}`, sequenceNumber: `${1000 - at}` }),
      );
      for (const at of [0, 1, 2]) await index.put(records.filter((_, n) => n % 3 === at));
      const paged: string[] = [];
      for (let after: string | null = null; ; ) {
        const page: string[] = (await index.list(after, 10)).map(quarantineId);
        paged.push(...page);
        if (page.length === 0) break;
        after = page.at(-1) as string;
      }
      expect(paged).toEqual(records.map(quarantineId).sort());
      expect(await index.list(paged.at(-1) as string, 10)).toEqual([]);
    });

    test('a listing goes on after an id that is not there', async (world) => {
      const index = await world.connect();
      const record = quarantined({ sequenceNumber: '7' });
      await index.put([record]);
      expect(await index.list(quarantineId({ ...record, sequenceNumber: '6' }), 5)).toEqual([
        record,
      ]);
      expect(await index.list(quarantineId({ ...record, sequenceNumber: '8' }), 5)).toEqual([]);
    });

    test('a record is got by its id, whole, and no other', async (world) => {
      const index = await world.connect();
      const records = ['6', '7'].flatMap((sequenceNumber) =>
        ['slice-a', 'slice-b', 'slice-\ufffd'].map((sliceId) =>
          quarantined({ sequenceNumber, sliceId, data: patternOf(300, Number(sequenceNumber)) }),
        ),
      );
      for (const slice of new Set(records.map(({ sliceId }) => sliceId))) {
        await index.put(records.filter(({ sliceId }) => sliceId === slice));
      }
      for (const record of records) expect(await read(index, quarantineId(record))).toEqual(record);
      expect(await index.read(records.map(quarantineId))).toEqual(
        new Map(records.map((record) => [quarantineId(record), record])),
      );
      const id = quarantineId(quarantined({ sequenceNumber: '6' }));
      const others = [
        ...[quarantineId(quarantined({ sequenceNumber: '8' })), id.toUpperCase(), id.slice(0, -1)],
        ...[
          `${id}0`,
          `${id} `,
          `${id}\0`,
          `${id.slice(0, -1)}%`,
          id.replace('slice-a', 'slice-\ud800'),
        ],
        ...ODD_TEXTS,
      ];
      for (const other of others) {
        expect(await read(index, other), JSON.stringify(other)).toBeNull();
      }
    });

    test('a record is got as it was put, of any text and any size', async (world) => {
      const index = await world.connect();
      for (const [at, text] of ODD_TEXTS.entries()) {
        const data = at === 0 ? patternOf(1024 * 1024, 3) : new Uint8Array(0);
        const record = quarantined({ epoch: at, subSequence: at, detail: text, data });
        for (const _ of [1, 2]) await index.put([record]);
        const got = (await read(index, quarantineId(record))) as QuarantinedRecord;
        expect({ ...got, data: null }).toEqual({ ...record, data: null });
        expect(Buffer.compare(got.data, data)).toBe(0);
      }
    });

    test('a connection gets what another has put', async (world) => {
      const [one, other] = [await world.connect(), await world.connect()];
      const id = quarantineId(quarantined());
      expect(await read(other, id)).toBeNull();
      await one.put([quarantined()]);
      expect(await read(other, id)).toEqual(quarantined());
    });

    test('changing bytes that were passed in or given out changes nothing stored', async (world) => {
      const index = await world.connect();
      const mine = quarantined();
      await index.put([mine]);
      mine.data.fill(0);
      for (const { data } of await index.list(null, 10)) data.fill(0);
      const got = await read(index, quarantineId(mine));
      if (got !== null && got !== 'purged') got.data.fill(0);
      expect(await index.list(null, 10)).toEqual([quarantined()]);
    });

    test('connections that put the same records at once put each once', async (world) => {
      const [one, other] = [await world.connect(), await world.connect()];
      const records = Array.from({ length: 20 }, (_, at) =>
        quarantined({ sequenceNumber: `${10 + at}` }),
      );
      await Promise.all([one.put(records), other.put(records), one.put([...records].reverse())]);
      expect(await other.list(null, 100)).toEqual(records);
    });

    test('a purge takes away what it names, and nothing else', async (world) => {
      const [index, other] = [await world.connect(), await world.connect()];
      const commits = [commitOf(9), commitOf(9, { epoch: 8 })];
      for (const commit of commits) await index.put(commit);
      // So that a connection that keeps what it has read is found out.
      expect(await other.list(null, 100)).toHaveLength(18);
      const doomed = commits.flat().filter((_, at) => at % 3 === 1);
      const left = commits.flat().filter((_, at) => at % 3 !== 1);
      await index.purge('slice-a', doomed.map(quarantineId), 0);
      for (const each of [index, other]) {
        expect(await each.list(null, 100)).toEqual(left);
        expect(await each.describe(null, 100, ALL_QUARANTINED)).toHaveLength(left.length);
        for (const record of left) expect(await read(each, quarantineId(record))).toEqual(record);
        for (const record of doomed) expect(await read(each, quarantineId(record))).toBe('purged');
      }
    });

    test('what was purged is not brought back by a put that is repeated', async (world) => {
      const index = await world.connect();
      const commit = commitOf(6);
      await index.put(commit);
      const ids = commit.map(quarantineId);
      await index.purge('slice-a', ids.slice(0, 2), 7);
      await index.put(commit);
      expect(await index.list(null, 10)).toEqual(commit.slice(2));
      await index.purge('slice-a', ids, 7);
      await index.purge('slice-a', ids, 7);
      await index.put(commit);
      expect(await index.list(null, 10)).toEqual([]);
      expect(await read(index, ids[3]!)).toBe('purged');
    });

    test('what no put can come for any more is forgotten', async (world) => {
      const index = await world.connect();
      const commits = [commitOf(4), commitOf(4, { epoch: 8 })];
      for (const commit of commits) await index.put(commit);
      const [old, recent] = commits.map((commit) => commit.map(quarantineId));
      await index.purge('slice-a', [...old!, ...recent!], 8);
      expect(await index.list(null, 10)).toEqual([]);
      expect(await index.read(old!)).toEqual(new Map());
      expect(await read(index, recent![0]!)).toBe('purged');
      await index.purge('slice-a', recent!, 9);
      expect(await index.read(recent!)).toEqual(new Map());
    });

    test('a purge of one slice touches no other, and one of nothing does nothing', async (world) => {
      const index = await world.connect();
      const mine = quarantined({ sliceId: 'slice-b' });
      await index.put([mine]);
      await index.purge('slice-a', [quarantineId(mine), quarantineId(quarantined())], 100);
      await index.purge('slice-b', [], 100);
      await index.purge('slice-b', ['no id', quarantineId({ ...mine, subSequence: 9 })], 100);
      expect(await index.list(null, 10)).toEqual([mine]);
    });

    test('what was put is there after a restart', async (world) => {
      await (await world.connect()).put([quarantined()]);
      await world.disconnect();
      const after = await world.connect();
      expect(await after.list(null, 10)).toEqual([quarantined()]);
      expect(await read(after, quarantineId(quarantined()))).toEqual(quarantined());
    });
  });
}
