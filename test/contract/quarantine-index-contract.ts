/**
 * The guarantees of `QuarantineIndex`, for every implementation.
 */
import { expect } from 'vitest';
import { type QuarantinedRecord, type QuarantineIndex, quarantineId } from '../../core/ports.ts';
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

    test('a repeat of put leaves what is there as it is', async (world) => {
      const index = await world.connect();
      const [first, second] = [quarantined(), quarantined({ sequenceNumber: '5' })];
      await index.put([first]);
      await index.put([quarantined({ reason: 'other', data: bytesOf('other') }), second]);
      expect(await index.list(null, 10)).toEqual([second, first]);
    });

    test('slice, timeline, sequence number and sub-sequence tell records apart, the rest does not', async (world) => {
      const index = await world.connect();
      await index.put([
        quarantined(),
        quarantined({ sliceId: 'slice-b' }),
        quarantined({ timeline: 1 }),
        quarantined({ sequenceNumber: '6' }),
        quarantined({ subSequence: 1 }),
        quarantined({ epoch: 8, shardId: 'other', planHash: 'other' }),
      ]);
      const ids = (await index.list(null, 10)).map(quarantineId);
      expect(ids).toHaveLength(5);
      expect(new Set(ids).size).toBe(5);
    });

    test('records are ordered by id, whatever the order they came in', async (world) => {
      const index = await world.connect();
      const records = ['10', '9', '100', '99'].map((sequenceNumber) =>
        quarantined({ sequenceNumber }),
      );
      await index.put(records.slice(0, 2));
      await index.put(records.slice(2));
      const listed = await index.list(null, 10);
      expect(listed.map(({ sequenceNumber }) => sequenceNumber)).toEqual(['9', '10', '99', '100']);
    });

    test('pages tile the listing', async (world) => {
      const index = await world.connect();
      const records = Array.from({ length: 47 }, (_, at) =>
        quarantined({ sliceId: `slice-${at % 3}`, sequenceNumber: `${1000 - at}` }),
      );
      await index.put(records);
      const paged: string[] = [];
      for (let after: string | null = null; ; ) {
        const page: string[] = (await index.list(after, 10)).map(quarantineId);
        paged.push(...page);
        if (page.length < 10) break;
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
      await index.put(records);
      for (const record of records) expect(await index.get(quarantineId(record))).toEqual(record);
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
        expect(await index.get(other), JSON.stringify(other)).toBeNull();
      }
    });

    test('a record is got as it was put first, of any text and any size', async (world) => {
      const index = await world.connect();
      for (const [at, text] of ODD_TEXTS.entries()) {
        const data = at === 0 ? patternOf(1024 * 1024, 3) : new Uint8Array(0);
        const record = quarantined({ epoch: at, subSequence: at, detail: text, data });
        await index.put([record]);
        await index.put([{ ...record, reason: 'other' }]);
        const got = (await index.get(quarantineId(record))) as QuarantinedRecord;
        expect({ ...got, data: null }).toEqual({ ...record, data: null });
        expect(Buffer.compare(got.data, data)).toBe(0);
      }
    });

    test('a connection gets what another has put', async (world) => {
      const [one, other] = [await world.connect(), await world.connect()];
      const id = quarantineId(quarantined());
      expect(await other.get(id)).toBeNull();
      await one.put([quarantined()]);
      expect(await other.get(id)).toEqual(quarantined());
    });

    test('changing bytes that were passed in or given out changes nothing stored', async (world) => {
      const index = await world.connect();
      const mine = quarantined();
      await index.put([mine]);
      mine.data.fill(0);
      for (const { data } of await index.list(null, 10)) data.fill(0);
      (await index.get(quarantineId(mine)))?.data.fill(0);
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

    test('what was put is there after a restart', async (world) => {
      await (await world.connect()).put([quarantined()]);
      await world.disconnect();
      const after = await world.connect();
      expect(await after.list(null, 10)).toEqual([quarantined()]);
      expect(await after.get(quarantineId(quarantined()))).toEqual(quarantined());
    });
  });
}
