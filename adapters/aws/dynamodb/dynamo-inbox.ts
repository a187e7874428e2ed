/**
 * Requests to slices' owners in DynamoDB: `inbox#<slice>` / request. What they name is kept compressed, so that a request
 * for thousands of records fits an item.
 */
import { assert } from '../../../core/assert.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import type { Inbox, RedriveOutcome, RedriveRequest } from '../../../core/ports.ts';
import type { DynamoTable, ItemKey } from './dynamo-table.ts';
import { type Item, numberOf, packedOf, packedValue, textOf } from './item-values.ts';
import { FIRST_KEY, justAfter, keyOfText, LAST_KEY, textOfKey } from './key-text.ts';

export class DynamoInbox implements Inbox {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async put({ sliceId, id, records, done }: RedriveRequest): Promise<void> {
    const { pk, sk } = keyOf(sliceId, id);
    await this.#table.create(`put a request to ${sliceId}`, {
      pk: { S: pk },
      sk: { S: sk },
      requested: packedValue(JSON.stringify(records)),
      ...(done === null ? {} : { done: packedValue(JSON.stringify(done)) }),
    });
  }

  async list(sliceId: string, after: string | null, limit: number): Promise<RedriveRequest[]> {
    assert(limit > 0, 'list-limit-is-positive');
    const from = after === null ? FIRST_KEY : justAfter(keyOfText(after));
    const range = { pk: partition(sliceId), from, to: LAST_KEY };
    const requests: RedriveRequest[] = [];
    for await (const item of this.#table.query(`list the requests to ${sliceId}`, range, {
      limit,
    })) {
      requests.push(toRequest(sliceId, item));
      if (requests.length === limit) break;
    }
    return requests;
  }

  /** Counts too much rather than too little: an answer that was lost is asked for again. */
  async begin(sliceId: string, id: string): Promise<number> {
    const item = await this.#table.updateIf(`begin a request to ${sliceId}`, keyOf(sliceId, id), {
      UpdateExpression: 'ADD #begun :one',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeNames: { '#begun': 'begun' },
      ExpressionAttributeValues: { ':one': { N: '1' } },
    });
    return item === null ? 1 : numberOf(item, 'begun');
  }

  async settle(sliceId: string, id: string): Promise<void> {
    await this.#table.updateIf(`settle a request to ${sliceId}`, keyOf(sliceId, id), {
      UpdateExpression: 'REMOVE #begun',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeNames: { '#begun': 'begun' },
      ReturnValues: 'NONE',
    });
  }

  async finish(sliceId: string, id: string, done: RedriveOutcome): Promise<void> {
    await this.#table.updateIf(`finish a request to ${sliceId}`, keyOf(sliceId, id), {
      UpdateExpression: 'SET #done = :done REMOVE #begun',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeNames: { '#done': 'done', '#begun': 'begun' },
      ExpressionAttributeValues: { ':done': packedValue(JSON.stringify(done)) },
      ReturnValues: 'NONE',
    });
  }

  async delete(sliceId: string, ids: readonly string[]): Promise<void> {
    const keys = ids.map((id) => keyOf(sliceId, id));
    await this.#table.batchDelete(`delete ${ids.length} requests to ${sliceId}`, keys);
  }
}

function keyOf(sliceId: string, id: string): ItemKey {
  return { pk: partition(sliceId), sk: keyOfText(id) };
}

function partition(sliceId: string): string {
  return `inbox#${keyOfText(sliceId)}`;
}

function toRequest(sliceId: string, item: Item): RedriveRequest {
  const id = textOfKey(textOf(item, 'sk'));
  const [records, done] = [
    packedOf(item, 'requested'),
    item['done'] === undefined ? null : packedOf(item, 'done'),
  ];
  try {
    return {
      id,
      sliceId,
      records: JSON.parse(records),
      done: done === null ? null : JSON.parse(done),
    };
  } catch (cause) {
    throw new CorruptStateFault(`request ${id} to ${sliceId} is no JSON`, {
      hint: 'something else wrote into the table, or it was damaged: delete the request and make it again',
      cause,
    });
  }
}
