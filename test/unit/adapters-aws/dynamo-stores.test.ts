import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DynamoCheckpointStore } from '../../../adapters/aws/dynamodb/dynamo-checkpoint-store.ts';
import { DynamoInbox } from '../../../adapters/aws/dynamodb/dynamo-inbox.ts';
import { DynamoItemStore } from '../../../adapters/aws/dynamodb/dynamo-item-store.ts';
import { DynamoPlanRegistry } from '../../../adapters/aws/dynamodb/dynamo-plan-registry.ts';
import { DynamoSuspicionStore } from '../../../adapters/aws/dynamodb/dynamo-suspicion-store.ts';
import type { HeadItem } from '../../../core/ports.ts';
import { START, sortablePosition } from '../../../core/position.ts';
import { patternOf } from '../../contract/contract.ts';
import { type AwsAnswer, type AwsRequest, failed, ok, scriptedAws } from './scripted-aws.ts';

const SLICE = 'slice-000000000001';
const DELIVERED = sortablePosition({ sequenceNumber: '9'.repeat(56), subSequence: 0 });
const CONDITION_FAILED = 'ConditionalCheckFailedException';
const CUT: AwsAnswer = { cut: 'before' };
const THROTTLE = failed('ProvisionedThroughputExceededException');

function head(revision: number, bodyLength = 10): HeadItem {
  return { sliceId: SLICE, revision, delivered: DELIVERED, body: patternOf(bodyLength, revision) };
}

function headJson({ sliceId, revision, delivered, body }: HeadItem) {
  return {
    pk: { S: `head#${sliceId}` },
    sk: { S: '-' },
    rev: { N: String(revision) },
    delivered: { S: delivered },
    body: { B: Buffer.from(body).toString('base64') },
  };
}

function operations(requests: readonly AwsRequest[]): string[] {
  return requests.map(({ operation }) => operation);
}

describe('DynamoCheckpointStore', () => {
  it('reads HEAD consistently, and again where it is throttled, cut off or not answered', async () => {
    const { table, requests } = await scriptedAws([
      ...[THROTTLE, { cut: 'before' } as const, { cut: 'within' } as const],
      ...[{ hang: 'before' } as const, ok({ Item: headJson(head(3)) })],
    ]);
    expect(await new DynamoCheckpointStore(table).readHead(SLICE)).toEqual(head(3));
    expect(requests).toHaveLength(5);
    for (const { operation, json } of requests) {
      expect(operation).toBe('GetItem');
      expect(json).toEqual({
        TableName: 'flights',
        Key: { pk: { S: `head#${SLICE}` }, sk: { S: '-' } },
        ConsistentRead: true,
      });
    }
  });

  it('throws a TransientFault when throttling does not end', async () => {
    const { table, requests } = await scriptedAws(() => THROTTLE);
    await expect(new DynamoCheckpointStore(table).readHead(SLICE)).rejects.toMatchObject({
      name: 'TransientFault',
      message: `cannot read HEAD of ${SLICE} (DynamoDB table flights): ProvisionedThroughputExceededException: said so`,
    });
    expect(requests).toHaveLength(5);
  });

  it('writes HEAD under one condition, in one call', async () => {
    const { table, requests } = await scriptedAws([ok()]);
    const write = new DynamoCheckpointStore(table).writeHead(head(8), 7, null);
    expect(await write).toEqual({ outcome: 'applied' });
    expect(requests.map(({ json }) => json)).toEqual([
      {
        TableName: 'flights',
        Item: headJson(head(8)),
        ConditionExpression:
          '#rev = :rev AND #delivered <= :delivered AND (attribute_not_exists(#hold))',
        ExpressionAttributeNames: { '#rev': 'rev', '#delivered': 'delivered', '#hold': 'hold' },
        ExpressionAttributeValues: { ':rev': { N: '7' }, ':delivered': { S: DELIVERED } },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      },
    ]);
  });

  it('shows what a refused write met, which may be itself when its answer was lost', async () => {
    const { table } = await scriptedAws([
      CUT,
      failed(CONDITION_FAILED, 'no', { Item: headJson(head(8)) }),
      failed(CONDITION_FAILED, 'no'),
    ]);
    const store = new DynamoCheckpointStore(table);
    expect(await store.writeHead(head(8), 7, null)).toEqual({
      outcome: 'refused',
      current: head(8),
    });
    expect(await store.writeHead(head(8), 7, null)).toEqual({ outcome: 'refused', current: null });
  });

  it('keeps a HEAD of the most bytes that the core allows in one write unit', async () => {
    const { table, requests } = await scriptedAws(() => ok());
    const store = new DynamoCheckpointStore(table);
    const bodyLength = 1024 - 40 - DELIVERED.length - SLICE.length;
    const largest = { ...head(0, bodyLength), revision: Number.MAX_SAFE_INTEGER };
    expect(await store.writeHead(largest, 1, null)).toEqual({ outcome: 'applied' });
    await expect(store.writeHead({ ...head(1, bodyLength + 20) }, 1, null)).rejects.toMatchObject({
      invariant: 'head-fits-one-write-unit',
    });
    expect(requests).toHaveLength(1);
  });

  it('enters a slice in the directory before its first HEAD, once', async () => {
    const { table, requests } = await scriptedAws(() => ok());
    const store = new DynamoCheckpointStore(table);
    await store.createHead(head(1));
    await store.createHead(head(1));
    const keys = requests.map(({ json }) => [json.Item.pk.S, json.ConditionExpression]);
    const isNew = 'attribute_not_exists(pk)';
    expect(keys).toEqual([
      ['slices', isNew],
      [`head#${SLICE}`, isNew],
      [`head#${SLICE}`, isNew],
    ]);
  });

  it('creates no HEAD when the directory cannot be written, and enters the slice the next time', async () => {
    const { table, requests } = await scriptedAws([
      failed('AccessDeniedException'),
      failed(CONDITION_FAILED),
      ok(),
    ]);
    const store = new DynamoCheckpointStore(table);
    await expect(store.createHead(head(1))).rejects.toThrow('cannot enter');
    expect(await store.createHead(head(1))).toEqual({ outcome: 'applied' });
    expect(requests.map(({ json }) => json.Item.pk.S)).toEqual([
      ...['slices', 'slices', `head#${SLICE}`],
    ]);
  });

  it('lists the HEADs of all pages and batches, asks again for what was left, and skips slices without one', async () => {
    const sliceIds = Array.from(
      { length: 150 },
      (_, at) => `slice-${String(at).padStart(12, '0')}`,
    );
    const entries = sliceIds.map((sliceId) => ({ pk: { S: 'slices' }, sk: { S: sliceId } }));
    const asked: number[] = [];
    const { table } = await scriptedAws(({ operation, json }) => {
      if (operation === 'Query') {
        expect(json.ConsistentRead).toBe(true);
        if (json.ExclusiveStartKey !== undefined) return ok({ Items: entries.slice(70) });
        return ok({ Items: entries.slice(0, 70), LastEvaluatedKey: entries[69] });
      }
      const { Keys, ConsistentRead } = json.RequestItems.flights;
      expect(ConsistentRead).toBe(true);
      asked.push(Keys.length);
      const isCut = Keys.length === 100;
      const done = isCut ? Keys.slice(0, 60) : Keys;
      const heads = done
        .map(({ pk }: { pk: { S: string } }) => pk.S.slice('head#'.length))
        .filter((sliceId: string) => sliceId !== sliceIds[7])
        .map((sliceId: string) => headJson({ ...head(1), sliceId }))
        .reverse();
      const left = { flights: { Keys: Keys.slice(60), ConsistentRead: true } };
      return ok({ Responses: { flights: heads }, UnprocessedKeys: isCut ? left : {} });
    });
    const listed = await new DynamoCheckpointStore(table).listHeads();
    expect(asked).toEqual([100, 40, 50]);
    expect(listed.map(({ sliceId }) => sliceId)).toEqual(sliceIds.filter((_, at) => at !== 7));
  });

  it('gives up on HEADs that are never processed', async () => {
    const { table, requests } = await scriptedAws(({ operation, json }) =>
      operation === 'Query'
        ? ok({ Items: [{ pk: { S: 'slices' }, sk: { S: SLICE } }] })
        : ok({ Responses: {}, UnprocessedKeys: json.RequestItems }),
    );
    await expect(new DynamoCheckpointStore(table).listHeads()).rejects.toMatchObject({
      name: 'TransientFault',
      message:
        'cannot list the HEADs (DynamoDB table flights): DynamoDB left 1 items of a batch undone',
    });
    expect(operations(requests)).toEqual(['Query', ...Array(5).fill('BatchGetItem')]);
  });

  it('takes a HEAD that lacks an attribute for damage', async () => {
    const { body, ...rest } = headJson(head(1));
    const { table } = await scriptedAws([ok({ Item: rest })]);
    await expect(new DynamoCheckpointStore(table).readHead(SLICE)).rejects.toMatchObject({
      name: 'CorruptStateFault',
      message: `the item head#${SLICE} / - has no sound attribute "body"`,
    });
    expect(body).toBeDefined();
  });

  it.each([
    ['ResourceNotFoundException', 'Requested resource not found', /does not exist/],
    ['AccessDeniedException', 'not authorized to perform: dynamodb:GetItem', /^grant the function/],
    ['AccessDeniedException', 'not authorized to perform: kms:Decrypt', /KMS key/],
    ['UnrecognizedClientException', 'The security token is invalid', /^sign in/],
    ['ValidationException', 'The provided key element does not match the schema', /no table of/],
  ])('%s (%s) is a ConfigurationFault that names the table', async (name, message, hint) => {
    const { table, requests } = await scriptedAws([failed(name, message)]);
    await expect(new DynamoCheckpointStore(table).readHead(SLICE)).rejects.toMatchObject({
      name: 'ConfigurationFault',
      message: expect.stringContaining('DynamoDB table flights'),
      hint: expect.stringMatching(hint),
    });
    expect(requests).toHaveLength(1);
  });
});

describe('DynamoItemStore', () => {
  const clock = { nowMs: () => 1_700_000_000_123 };

  it('says exists for its own creation whose answer was lost', async () => {
    const { table, requests } = await scriptedAws([CUT, failed(CONDITION_FAILED)]);
    const store = new DynamoItemStore(table, clock);
    expect(await store.create(`${SLICE}/delta/1`, patternOf(9, 1))).toBe('exists');
    expect(requests[0]?.json.Item).toEqual({
      pk: { S: expect.stringMatching(/^blob#slice-000000000001#[0-3]$/) },
      sk: { S: `${SLICE}/delta/1` },
      byteLength: { N: '9' },
      createdMs: { N: '1700000000123' },
      body: { B: Buffer.from(patternOf(9, 1)).toString('base64') },
    });
  });

  it('spreads the blobs of a slice over four partitions, always the same way', async () => {
    const { table, requests } = await scriptedAws(() => ok());
    const store = new DynamoItemStore(table, clock);
    for (let at = 0; at < 40; at++) await store.create(`${SLICE}/delta/${at}`, patternOf(1, 1));
    const partitions = requests.map(({ json }) => json.Item.pk.S.at(-1));
    expect(new Set(partitions)).toEqual(new Set(['0', '1', '2', '3']));
    // Stored blobs are found by this: it may never change.
    expect(partitions.slice(0, 8).join('')).toBe('30030330');
  });

  it('refuses what fits no item, before it asks', async () => {
    const { table, requests } = await scriptedAws([]);
    const store = new DynamoItemStore(table, clock);
    await expect(store.create('slice/base/1', patternOf(400 * 1024, 1))).rejects.toMatchObject({
      invariant: 'an-item-fits-dynamodb',
    });
    const longest = Array.from({ length: 6 }, () => 'x'.repeat(200)).join('/');
    await expect(store.create(longest, patternOf(1, 1))).rejects.toMatchObject({
      invariant: 'a-sort-key-fits-dynamodb',
    });
    expect(requests).toEqual([]);
  });

  it('lists without the bytes, and asks a partition for more only when it needs it', async () => {
    const keys = Array.from({ length: 10 }, (_, at) => `${SLICE}/delta/${at}`);
    const { table, requests } = await scriptedAws(({ json }) => {
      const values = json.ExpressionAttributeValues;
      if (!values[':pk'].S.endsWith('#2')) return ok({ Items: [] });
      const from = json.ExclusiveStartKey?.sk.S ?? '';
      const page = keys.filter((key) => key > from).slice(0, json.Limit);
      const last = page.length === json.Limit ? { sk: { S: page.at(-1) } } : undefined;
      return ok({ Items: page.map(listedItem), LastEvaluatedKey: last });
    });
    const listed = await new DynamoItemStore(table, clock).list(`${SLICE}/`, null, 6);
    expect(listed.map(({ key }) => key)).toEqual(keys.slice(0, 6));
    // Three a page: two pages of the full partition, one of each of the others.
    expect(requests).toHaveLength(3 + 2);
    for (const { json } of requests) {
      expect(json.ProjectionExpression).toBe('pk, sk, #byteLength, #createdMs');
      expect(json.ConsistentRead).toBe(true);
    }
  });

  it('deletes 25 a call, none twice, and what was left undone again', async () => {
    const batches: string[][] = [];
    const { table } = await scriptedAws(({ json }) => {
      const requests = json.RequestItems.flights;
      batches.push(
        requests.map((each: { DeleteRequest: { Key: { sk: { S: string } } } }) =>
          each.DeleteRequest.Key.sk.S.slice('slice/delta/'.length),
        ),
      );
      return ok({ UnprocessedItems: batches.length === 1 ? { flights: requests.slice(24) } : {} });
    });
    const keys = Array.from({ length: 26 }, (_, at) => `slice/delta/${at}`);
    await new DynamoItemStore(table, clock).delete([...keys, ...keys]);
    expect(batches).toEqual([Array.from({ length: 25 }, (_, at) => `${at}`), ['24'], ['25']]);
  });

  it('goes on as long as something of a batch is done', async () => {
    let rounds = 0;
    const { table } = await scriptedAws(({ json }) => {
      rounds++;
      return ok({ UnprocessedItems: { flights: json.RequestItems.flights.slice(1) } });
    });
    await new DynamoItemStore(table, clock).delete(
      Array.from({ length: 12 }, (_, at) => `a/${at}`),
    );
    expect(rounds).toBe(12);
  });

  it('gives up on deletions that are never processed', async () => {
    const { table } = await scriptedAws(({ json }) => ok({ UnprocessedItems: json.RequestItems }));
    await expect(new DynamoItemStore(table, clock).delete(['a/b'])).rejects.toMatchObject({
      name: 'TransientFault',
      message:
        'cannot delete 1 blobs (DynamoDB table flights): DynamoDB left 1 items of a batch undone',
    });
  });
});

describe('DynamoPlanRegistry', () => {
  const plan = { ordinal: 2, hash: '2'.repeat(32), pipeline: '{}' };

  it('knows itself when its answer was lost', async () => {
    const { table } = await scriptedAws(lostThenFound());
    expect(await new DynamoPlanRegistry(table).activate(plan)).toBe('applied');
  });

  it("takes another's activation of the same plan for no own one", async () => {
    const { table } = await scriptedAws(lostThenFound({ attempt: { S: 'theirs' } }));
    expect(await new DynamoPlanRegistry(table).activate(plan)).toBe('refused');
  });

  it('refuses a plan that fits no item, in words for a person', async () => {
    const { table, requests } = await scriptedAws([]);
    let pipeline = '';
    for (const byte of patternOf(600_000, 1)) pipeline += String.fromCharCode(byte);
    const activation = new DynamoPlanRegistry(table).activate({ ...plan, pipeline });
    await expect(activation).rejects.toMatchObject({
      name: 'ConfigurationFault',
      message: expect.stringMatching(/^plan 2 is too large: \d+ bytes compressed, at most 409600/),
      hint: 'divide the pipeline into several',
    });
    expect(requests).toEqual([]);
  });

  it('takes what is no compressed text for damage', async () => {
    const Item = { ordinal: { N: '1' }, hash: { S: 'h' }, pipeline: { B: 'AAAA' } };
    const { table } = await scriptedAws([ok({ Item })]);
    await expect(new DynamoPlanRegistry(table).active()).rejects.toThrow('no sound attribute');
  });
});

describe('DynamoInbox', () => {
  it('counts a beginning whose answer was lost twice, never not at all', async () => {
    let begun = 0;
    const { table } = await scriptedAws(() => {
      begun++;
      return begun === 1 ? CUT : ok({ Attributes: { begun: { N: String(begun) } } });
    });
    expect(await new DynamoInbox(table).begin(SLICE, '1')).toBe(2);
  });

  it('takes a request that is no JSON for damage', async () => {
    const Item = {
      pk: { S: `inbox#${SLICE}` },
      sk: { S: '1' },
      requested: { B: deflateRawSync('{').toString('base64') },
    };
    const { table } = await scriptedAws([ok({ Items: [Item] })]);
    await expect(new DynamoInbox(table).list(SLICE, null, 9)).rejects.toMatchObject({
      name: 'CorruptStateFault',
      message: `request 1 to ${SLICE} is no JSON`,
    });
  });

  it('lists over pages, and asks for no more than is wanted', async () => {
    const item = (id: string) => ({
      sk: { S: id },
      requested: { B: deflateRawSync('[]').toString('base64') },
    });
    const { table, requests } = await scriptedAws([
      ok({ Items: [item('1')], LastEvaluatedKey: { sk: { S: '1' } } }),
      ok({ Items: [item('2'), item('3')], LastEvaluatedKey: { sk: { S: '3' } } }),
    ]);
    const listed = await new DynamoInbox(table).list(SLICE, '0', 3);
    expect(listed.map(({ id }) => id)).toEqual(['1', '2', '3']);
    expect(requests.map(({ json }) => [json.Limit, json.ConsistentRead])).toEqual([
      [3, true],
      [3, true],
    ]);
    expect(requests[0]?.json.ExpressionAttributeValues[':from']).toEqual({ S: '0!' });
  });
});

describe('DynamoSuspicionStore', () => {
  it('writes and clears again where the answer was lost', async () => {
    const { table, requests } = await scriptedAws([CUT, ok(), CUT, ok()]);
    const store = new DynamoSuspicionStore(table);
    await store.write(SLICE, { position: START, attempts: 1, chunkRecords: 8 });
    await store.write(SLICE, null);
    expect(operations(requests)).toEqual(['PutItem', 'PutItem', 'DeleteItem', 'DeleteItem']);
  });
});

it('nothing that is written has a time to live', async () => {
  const { table, requests } = await scriptedAws(() => ok());
  await new DynamoCheckpointStore(table).createHead(head(1));
  await new DynamoItemStore(table, { nowMs: () => 1 }).create('a/b', patternOf(1, 1));
  await new DynamoInbox(table).put({ id: '1', sliceId: SLICE, records: [], done: null });
  await new DynamoPlanRegistry(table).activate({ ordinal: 1, hash: 'h', pipeline: '{}' });
  await new DynamoSuspicionStore(table).write(SLICE, {
    ...{ position: START, attempts: 1, chunkRecords: 8 },
  });
  const names = requests.flatMap(({ json }) => Object.keys(json.Item));
  expect([...new Set(names)].sort()).toEqual([
    ...['attempt', 'attempts', 'body', 'byteLength', 'chunkRecords', 'createdMs', 'delivered'],
    ...['hash', 'ordinal', 'pipeline', 'pk', 'requested', 'rev', 'sequenceNumber', 'sk'],
    'subSequence',
  ]);
});

/** The first attempt applies and its answer is lost; the second meets what the first wrote, with changes. */
function lostThenFound(changes: object = {}): (request: AwsRequest) => AwsAnswer {
  let written: object | null = null;
  return ({ json }) => {
    if (written !== null) return failed(CONDITION_FAILED, 'no', { Item: written });
    written = { ...json.Item, ...changes };
    return CUT;
  };
}

function listedItem(key: string) {
  return { pk: { S: 'x' }, sk: { S: key }, byteLength: { N: '1' }, createdMs: { N: '1' } };
}
