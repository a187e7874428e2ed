import { describe, expect, it } from 'vitest';
import { DynamoQuarantineIndex } from '../../../adapters/aws/dynamodb/dynamo-quarantine-index.ts';
import { MemoryBlobStore } from '../../../adapters/memory/memory-blob-store.ts';
import { type QuarantinedRecord, quarantineId } from '../../../core/ports.ts';
import { patternOf } from '../../contract/contract.ts';
import { failed, ok, scriptedAws } from './scripted-aws.ts';

const KIB = 1024;

function quarantined(overrides: Partial<QuarantinedRecord> = {}): QuarantinedRecord {
  return {
    sliceId: 'slice-a',
    shardId: 'shardId-000000000000',
    timeline: 0,
    epoch: 7,
    sequenceNumber: '5',
    subSequence: 0,
    partitionKey: 'key',
    arrivalMs: 1_700_000_000_123,
    reason: 'not-json',
    detail: 'Unexpected end',
    planHash: 'h',
    data: patternOf(10, 1),
    ...overrides,
  };
}

function memoryObjects(): MemoryBlobStore {
  return new MemoryBlobStore({ nowMs: () => 1 });
}

async function keysOf(objects: MemoryBlobStore): Promise<string[]> {
  return (await objects.list('', null, 100)).map(({ key }) => key);
}

describe('DynamoQuarantineIndex', () => {
  it('enters each slice in a directory before its first record, once', async () => {
    const { table, requests } = await scriptedAws(() => ok());
    const index = new DynamoQuarantineIndex(table, memoryObjects());
    await index.put([quarantined(), quarantined({ sequenceNumber: '6' })]);
    await index.put([quarantined({ sequenceNumber: '7' })]);
    const keys = requests.map(({ json }) => json.Item.pk.S);
    expect(keys).toEqual(['quarantine-slices', ...Array(3).fill('quarantine#slice-a')]);
    for (const { json } of requests) {
      expect(json.ConditionExpression).toBe('attribute_not_exists(pk)');
    }
  });

  it('keeps the data of a large record as an object, which is there before the item that names it', async () => {
    const objects = memoryObjects();
    const large = quarantined({ data: patternOf(300 * KIB, 2) });
    const { table, requests } = await scriptedAws(({ json }) => {
      if (json.Item?.object !== undefined) objectsAtItem.push(...written);
      return ok();
    });
    const written: string[] = [];
    const objectsAtItem: string[] = [];
    const create = objects.create.bind(objects);
    objects.create = async (key, bytes) => {
      written.push(key);
      return create(key, bytes);
    };
    await new DynamoQuarantineIndex(table, objects).put([large]);
    const [key] = await keysOf(objects);
    expect(key).toMatch(/^quarantine\/[0-9a-f]{64}$/);
    expect(objectsAtItem).toEqual([key]);
    const item = requests.at(-1)?.json.Item;
    expect(item.object).toEqual({ S: key });
    expect(item.data).toBeUndefined();
    const reader = await scriptedAws([ok({ Item: item })]);
    const got = await new DynamoQuarantineIndex(reader.table, objects).get(quarantineId(large));
    expect(Buffer.compare(got?.data as Uint8Array, large.data)).toBe(0);
  });

  it('names an object by its record and its data, so that a repeat writes the same', async () => {
    const objects = memoryObjects();
    const { table } = await scriptedAws(() => ok());
    const index = new DynamoQuarantineIndex(table, objects);
    const large = quarantined({ data: patternOf(300 * KIB, 2) });
    for (const record of [large, large]) await index.put([record]);
    expect(await keysOf(objects)).toHaveLength(1);
    await index.put([{ ...large, data: patternOf(300 * KIB, 3) }]);
    await index.put([{ ...large, sequenceNumber: '6' }]);
    expect(await keysOf(objects)).toHaveLength(3);
  });

  it('keeps the data of a record below that size in its item', async () => {
    const objects = memoryObjects();
    const { table, requests } = await scriptedAws(() => ok());
    await new DynamoQuarantineIndex(table, objects).put([
      quarantined({ data: patternOf(299 * KIB, 2) }),
    ]);
    expect(await keysOf(objects)).toEqual([]);
    expect(requests.at(-1)?.json.Item.data).toBeDefined();
  });

  it('takes an object that is gone for damage', async () => {
    const item = {
      ...Object.fromEntries(
        ['shardId', 'sequenceNumber', 'partitionKey', 'reason', 'detail', 'planHash'].map(
          (name) => [name, { S: '5' }],
        ),
      ),
      ...Object.fromEntries(
        ['timeline', 'epoch', 'subSequence', 'arrivalMs'].map((name) => [name, { N: '0' }]),
      ),
      object: { S: 'quarantine/gone' },
    };
    const { table } = await scriptedAws([ok({ Item: item })]);
    const index = new DynamoQuarantineIndex(table, memoryObjects());
    await expect(index.get(quarantineId(quarantined()))).rejects.toMatchObject({
      name: 'CorruptStateFault',
      message: 'the data of a quarantined record are gone: quarantine/gone',
    });
  });

  it('throws when a record cannot be put, and begins no more', async () => {
    const { table, requests } = await scriptedAws(({ json }) =>
      json.Item.subSequence?.N === '199' ? failed('AccessDeniedException') : ok(),
    );
    const records = Array.from({ length: 200 }, (_, at) => quarantined({ subSequence: at }));
    const index = new DynamoQuarantineIndex(table, memoryObjects());
    await expect(index.put(records)).rejects.toMatchObject({ name: 'ConfigurationFault' });
    expect(requests.length).toBeLessThan(100);
  });

  it('lists slice by slice in the order of ids, and not those that lie before', async () => {
    const asked: string[] = [];
    const { table } = await scriptedAws(({ json }) => {
      const { ':pk': pk, ':from': from } = json.ExpressionAttributeValues;
      asked.push(`${pk.S} ${from.S}`);
      // As DynamoDB orders them: the dash before the slash of an id counts.
      const entries = ['slice', 'slice-1', 'slice-1-0', 'slice-2'];
      const isDirectory = pk.S === 'quarantine-slices';
      return ok({ Items: isDirectory ? entries.map((slice) => ({ sk: { S: slice } })) : [] });
    });
    const index = new DynamoQuarantineIndex(table, memoryObjects());
    await index.list(null, 10);
    expect(asked.splice(0)).toEqual([
      ...['quarantine-slices !', 'quarantine#slice-1-0 !', 'quarantine#slice-1 !'],
      ...['quarantine#slice-2 !', 'quarantine#slice !'],
    ]);
    await index.list('slice-1/000000000000/7', 10);
    expect(asked).toEqual([
      ...['quarantine-slices !', 'quarantine#slice-1 000000000000/7!'],
      ...['quarantine#slice-2 !', 'quarantine#slice !'],
    ]);
  });
});
