import { describe, expect, it } from 'vitest';
import { DynamoQuarantineIndex } from '../../../adapters/aws/dynamodb/dynamo-quarantine-index.ts';
import type { Item } from '../../../adapters/aws/dynamodb/item-values.ts';
import { MemoryBlobStore } from '../../../adapters/memory/memory-blob-store.ts';
import { TransientFault } from '../../../core/faults.ts';
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

/** A table that keeps items by their keys. */
async function keepingTable() {
  const items = new Map<string, Item>();
  let refusing = false;
  const name = (key: Item) => `${key['pk']?.S} ${key['sk']?.S}`;
  const aws = await scriptedAws(({ json }) => {
    if (json.Item !== undefined) {
      if (refusing) return failed('AccessDeniedException');
      const there = items.get(name(json.Item));
      const isNew = json.ConditionExpression?.startsWith('attribute_not_exists');
      if (isNew && there !== undefined) return failed('ConditionalCheckFailedException');
      items.set(name(json.Item), json.Item);
      return ok();
    }
    if (json.KeyConditionExpression !== undefined) {
      const { ':pk': pk, ':from': from, ':to': to } = json.ExpressionAttributeValues;
      const found = [...items.values()].filter(
        (item) => item['pk']?.S === pk.S && item['sk']!.S! >= from.S && item['sk']!.S! <= to.S,
      );
      return ok({ Items: found.sort((a, b) => (name(a) < name(b) ? -1 : 1)) });
    }
    if (json.Key === undefined) throw new Error(JSON.stringify(json));
    const Item = items.get(name(json.Key));
    return ok(Item === undefined ? {} : { Item });
  });
  return { ...aws, items, refuse: () => (refusing = true) };
}

function commitOf(count: number, reasons: readonly string[], byteLength = 20) {
  return Array.from({ length: count }, (_, at) =>
    quarantined({
      sequenceNumber: String(1_000 + at),
      reason: reasons[at % reasons.length] as string,
      data: patternOf(byteLength, at),
    }),
  );
}

describe('DynamoQuarantineIndex', () => {
  it('writes an item and an object for each commit and reason, however many records there are', async () => {
    const objects = memoryObjects();
    const { table, items } = await keepingTable();
    const index = new DynamoQuarantineIndex(table, objects);
    await index.put(commitOf(5_000, ['not-json', 'late'], 100));
    // The directory's entry is the third.
    expect(items.size).toBe(3);
    expect(await keysOf(objects)).toHaveLength(2);
    expect(await index.list(null, 10_000)).toEqual(commitOf(5_000, ['not-json', 'late'], 100));
  });

  it('keeps a few small records in the item alone', async () => {
    const objects = memoryObjects();
    const { table, items } = await keepingTable();
    const index = new DynamoQuarantineIndex(table, objects);
    await index.put(commitOf(3, ['late']));
    expect(await keysOf(objects)).toEqual([]);
    expect([...items.keys()].at(-1)).toMatch(/^quarantine#slice-a 0{12}\/0{52}1002\.0{10}\/late$/);
    expect(await index.list(null, 10)).toEqual(commitOf(3, ['late']));
  });

  it('reads what many ids ask for by one query and one object', async () => {
    const objects = memoryObjects();
    const { table, requests } = await keepingTable();
    const records = commitOf(1_000, ['late'], 100);
    await new DynamoQuarantineIndex(table, objects).put(records);
    const before = requests.length;
    let reads = 0;
    const read = objects.read.bind(objects);
    objects.read = (key) => {
      reads++;
      return read(key);
    };
    const index = new DynamoQuarantineIndex(table, objects);
    for (let at = 0; at < 100; at += 25) {
      const some = records.slice(at, at + 25);
      expect((await index.read(some.map(quarantineId))).size).toBe(25);
    }
    expect(requests.length - before).toBe(4);
    expect(reads).toBe(1);
  });

  it('names an object by its item and its bytes, so that a repeat writes the same', async () => {
    const objects = memoryObjects();
    const commit = commitOf(9, ['late'], 2 * KIB);
    for (const _ of [1, 2]) {
      const { table } = await keepingTable();
      await new DynamoQuarantineIndex(table, objects).put([...commit].reverse());
    }
    expect(await keysOf(objects)).toHaveLength(1);
    const { table } = await keepingTable();
    await new DynamoQuarantineIndex(table, objects).put(
      commit.map((record) => ({ ...record, timeline: 1 })),
    );
    expect(await keysOf(objects)).toHaveLength(2);
  });

  it('has the object before the item that names it', async () => {
    const objects = memoryObjects();
    const aws = await keepingTable();
    const index = new DynamoQuarantineIndex(aws.table, objects);
    await index.put(commitOf(1, ['late']));
    aws.refuse();
    const commit = commitOf(9, ['late'], 2 * KIB).map((record) => ({ ...record, epoch: 8 }));
    await expect(index.put(commit.map((each) => ({ ...each, timeline: 2 })))).rejects.toMatchObject(
      {
        name: 'ConfigurationFault',
      },
    );
    expect(await keysOf(objects)).toHaveLength(1);
  });

  it('purges bytes, not names: what remains is written anew, and the object before is deleted', async () => {
    const objects = memoryObjects();
    const { table } = await keepingTable();
    const index = new DynamoQuarantineIndex(table, objects);
    const commit = commitOf(9, ['late'], 2 * KIB);
    await index.put(commit);
    const [before] = await keysOf(objects);
    await index.purge('slice-a', [quarantineId(commit[4]!)], 0);
    const after = await keysOf(objects);
    expect(after).toHaveLength(1);
    expect(after).not.toEqual([before]);
    expect((await objects.read(after[0]!))!.length).toBeLessThan(9 * 2 * KIB);
    await index.purge('slice-a', commit.map(quarantineId), 0);
    expect(await keysOf(objects)).toEqual([]);
  });

  it('finishes a purge that broke off before the object was deleted', async () => {
    const objects = memoryObjects();
    const { table } = await keepingTable();
    const index = new DynamoQuarantineIndex(table, objects);
    const commit = commitOf(9, ['late'], 2 * KIB);
    await index.put(commit);
    const remove = objects.delete.bind(objects);
    objects.delete = async () => {
      throw new TransientFault('no answer');
    };
    const ids = commit.map(quarantineId);
    await expect(index.purge('slice-a', ids, 0)).rejects.toThrow(TransientFault);
    objects.delete = remove;
    expect(await keysOf(objects)).toHaveLength(1);
    await index.purge('slice-a', ids, 0);
    expect(await keysOf(objects)).toEqual([]);
  });

  it('takes an object that is gone, or is not what was written, for damage', async () => {
    const objects = memoryObjects();
    const { table } = await keepingTable();
    const commit = commitOf(9, ['late'], 2 * KIB);
    await new DynamoQuarantineIndex(table, objects).put(commit);
    const [key] = await keysOf(objects);
    const bytes = (await objects.read(key!))!;
    await objects.delete([key!]);
    const reading = () => new DynamoQuarantineIndex(table, objects).list(null, 10);
    await expect(reading()).rejects.toMatchObject({
      name: 'CorruptStateFault',
      message: `the records of a quarantine's item are gone: ${key}`,
    });
    bytes[5] = (bytes[5] as number) ^ 1;
    await objects.create(key!, bytes);
    await expect(reading()).rejects.toMatchObject({ name: 'CorruptStateFault' });
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
