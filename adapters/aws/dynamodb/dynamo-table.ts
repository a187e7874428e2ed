/**
 * A pipeline's table, by which all stores of this folder reach DynamoDB: partition key `pk`, sort key `sk`, both text.
 *
 * - All reads are consistent.
 * - Each call is made by `AwsCalls`. A conditional write whose answer was lost is tried again, and then finds itself: who
 *   asks must be able to tell, or not mind.
 * - Expressions name attributes by `#` placeholders, since DynamoDB reserves some 570 words. None filters on a key.
 */
import {
  type AttributeValue,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  type PutItemCommandInput,
  QueryCommand,
  ScanCommand,
  UpdateItemCommand,
  type UpdateItemCommandInput,
  type WriteRequest,
} from '@aws-sdk/client-dynamodb';
import { assert } from '../../../core/assert.ts';
import { TransientFault } from '../../../core/faults.ts';
import type { Creation } from '../../../core/ports.ts';
import type { AwsCalls } from '../aws-calls.ts';
import { type Item, itemByteLength } from './item-values.ts';

/** DynamoDB's quotas. */
export const ITEM_BYTES_MAX = 400 * 1024;
const SORT_KEY_BYTES_MAX = 1024;
const BATCH_GET_MAX = 100;
const BATCH_WRITE_MAX = 25;

export interface DynamoTableOptions {
  readonly client: DynamoDBClient;
  readonly tableName: string;
  readonly calls: AwsCalls;
}

export interface ItemKey {
  readonly pk: string;
  readonly sk: string;
}

/** Sort keys of one partition, both ends inclusive. */
export interface KeyRange {
  readonly pk: string;
  readonly from: string;
  readonly to: string;
}

export interface Page {
  /** Items that one call fetches. */
  readonly limit?: number;
  /** Attributes that are wanted, beside the key; all unless given. */
  readonly attributes?: readonly string[];
}

type Condition = Pick<
  PutItemCommandInput,
  'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
>;
type Update = Omit<UpdateItemCommandInput, 'TableName' | 'Key'>;

/** `current` is what the condition was tried on, null if nothing is there. */
export type ConditionalPut =
  | { readonly outcome: 'applied' }
  | { readonly outcome: 'refused'; readonly current: Item | null };

interface Round<Part> {
  readonly undone: readonly Part[];
  /** Takes what the round brought. */
  readonly done: () => void;
}

const IF_MISSING: Condition = { ConditionExpression: 'attribute_not_exists(pk)' };

export class DynamoTable {
  readonly #client: DynamoDBClient;
  readonly #tableName: string;
  readonly #calls: AwsCalls;

  constructor({ client, tableName, calls }: DynamoTableOptions) {
    this.#client = client;
    this.#tableName = tableName;
    this.#calls = calls;
  }

  async get(what: string, key: ItemKey): Promise<Item | null> {
    const command = new GetItemCommand({
      TableName: this.#tableName,
      Key: keyValue(key),
      ConsistentRead: true,
    });
    const answer = await this.#calls.send(this.#to(what), (abortSignal) =>
      this.#client.send(command, { abortSignal }),
    );
    return answer.Item ?? null;
  }

  /** Puts the item whatever is there. */
  async put(what: string, item: Item): Promise<void> {
    await this.#put(what, item, {});
  }

  async create(what: string, item: Item): Promise<Creation> {
    try {
      await this.#put(what, item, IF_MISSING);
      return 'created';
    } catch (error) {
      if (isRefusal(error)) return 'exists';
      throw error;
    }
  }

  /** Puts the item if `condition` holds: that nothing is there, unless given. */
  async putIf(
    what: string,
    item: Item,
    condition: Condition = IF_MISSING,
  ): Promise<ConditionalPut> {
    try {
      await this.#put(what, item, condition);
      return { outcome: 'applied' };
    } catch (error) {
      if (isRefusal(error)) return { outcome: 'refused', current: error.Item ?? null };
      throw error;
    }
  }

  /** What the item's changed attributes are now; null if the condition does not hold. */
  async updateIf(what: string, key: ItemKey, update: Update): Promise<Item | null> {
    const command = new UpdateItemCommand({
      TableName: this.#tableName,
      Key: keyValue(key),
      ReturnValues: 'UPDATED_NEW',
      ...update,
    });
    try {
      const answer = await this.#calls.send(
        this.#to(what),
        (abortSignal) => this.#client.send(command, { abortSignal }),
        isRefusal,
      );
      return answer.Attributes ?? {};
    } catch (error) {
      if (isRefusal(error)) return null;
      throw error;
    }
  }

  async delete(what: string, key: ItemKey): Promise<void> {
    const command = new DeleteItemCommand({ TableName: this.#tableName, Key: keyValue(key) });
    await this.#calls.send(this.#to(what), (abortSignal) =>
      this.#client.send(command, { abortSignal }),
    );
  }

  /** Items in the order of their sort keys. */
  async *query(what: string, { pk, from, to }: KeyRange, page: Page = {}): AsyncGenerator<Item> {
    // DynamoDB refuses a range that ends before it begins.
    if (from > to) return;
    let startKey: Item | undefined;
    do {
      const command = new QueryCommand({
        TableName: this.#tableName,
        ConsistentRead: true,
        KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
        ExpressionAttributeValues: { ':pk': { S: pk }, ':from': { S: from }, ':to': { S: to } },
        ExclusiveStartKey: startKey,
        ...(page.limit === undefined ? {} : { Limit: page.limit }),
        ...projectionOf(page),
      });
      const answer = await this.#calls.send(this.#to(what), (abortSignal) =>
        this.#client.send(command, { abortSignal }),
      );
      yield* answer.Items ?? [];
      startKey = answer.LastEvaluatedKey;
    } while (startKey !== undefined);
  }

  /** Every item of the table, in no order. */
  async *scan(what: string, page: Page): AsyncGenerator<Item> {
    let startKey: Item | undefined;
    do {
      const command = new ScanCommand({
        TableName: this.#tableName,
        ConsistentRead: true,
        ExclusiveStartKey: startKey,
        ...projectionOf(page),
      });
      const answer = await this.#calls.send(this.#to(what), (abortSignal) =>
        this.#client.send(command, { abortSignal }),
      );
      yield* answer.Items ?? [];
      startKey = answer.LastEvaluatedKey;
    } while (startKey !== undefined);
  }

  /** What is there of the items, in no order. */
  async batchGet(what: string, keys: readonly ItemKey[]): Promise<Item[]> {
    const items: Item[] = [];
    for (const chunk of chunksOf(distinct(keys), BATCH_GET_MAX)) {
      await this.#inRounds(what, chunk.map(keyValue), async (left, abortSignal) => {
        const answer = await this.#client.send(
          new BatchGetItemCommand({
            RequestItems: { [this.#tableName]: { Keys: [...left], ConsistentRead: true } },
          }),
          { abortSignal },
        );
        const found = answer.Responses?.[this.#tableName] ?? [];
        const undone = answer.UnprocessedKeys?.[this.#tableName]?.Keys ?? [];
        return { undone, done: () => items.push(...found) };
      });
    }
    return items;
  }

  /** Deletes what is there of the items. */
  async batchDelete(what: string, keys: readonly ItemKey[]): Promise<void> {
    for (const chunk of chunksOf(distinct(keys), BATCH_WRITE_MAX)) {
      const requests = chunk.map((key) => ({ DeleteRequest: { Key: keyValue(key) } }));
      await this.#inRounds<WriteRequest>(what, requests, async (left, abortSignal) => {
        const answer = await this.#client.send(
          new BatchWriteItemCommand({ RequestItems: { [this.#tableName]: [...left] } }),
          { abortSignal },
        );
        return { undone: answer.UnprocessedItems?.[this.#tableName] ?? [], done: () => {} };
      });
    }
  }

  /**
   * Sends a batch until nothing of it is undone. A round that does some of it is no failed attempt; what an attempt brings
   * counts only once it has ended in time.
   */
  async #inRounds<Part>(
    what: string,
    batch: readonly Part[],
    send: (left: readonly Part[], abortSignal: AbortSignal) => Promise<Round<Part>>,
  ): Promise<void> {
    for (let left = batch; left.length > 0; ) {
      const asked = left;
      const round = await this.#calls.send(this.#to(what), async (abortSignal) => {
        const answer = await send(asked, abortSignal);
        if (answer.undone.length < asked.length) return answer;
        throw unprocessed(this.#to(what), asked.length);
      });
      round.done();
      left = round.undone;
    }
  }

  async #put(what: string, item: Item, condition: Condition): Promise<void> {
    const [byteLength, sortKey] = [itemByteLength(item), item['sk']?.S ?? ''];
    assert(byteLength <= ITEM_BYTES_MAX, 'an-item-fits-dynamodb', () => `${what}: ${byteLength}`);
    assert(sortKey.length <= SORT_KEY_BYTES_MAX, 'a-sort-key-fits-dynamodb', () => sortKey);
    const command = new PutItemCommand({
      TableName: this.#tableName,
      Item: item,
      ...condition,
      ...(condition.ConditionExpression === undefined
        ? {}
        : { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const }),
    });
    await this.#calls.send(
      this.#to(what),
      (abortSignal) => this.#client.send(command, { abortSignal }),
      isRefusal,
    );
  }

  #to(what: string): string {
    return `${what} (DynamoDB table ${this.#tableName})`;
  }
}

function keyValue({ pk, sk }: ItemKey): Item {
  return { pk: { S: pk }, sk: { S: sk } };
}

/** DynamoDB refuses a batch that names an item twice. */
function distinct(keys: readonly ItemKey[]): ItemKey[] {
  return [...new Map(keys.map((key) => [`${key.pk}\n${key.sk}`, key])).values()];
}

function chunksOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  );
}

function projectionOf({ attributes }: Page): {
  ProjectionExpression?: string;
  ExpressionAttributeNames?: Record<string, string>;
} {
  if (attributes === undefined) return {};
  return {
    ProjectionExpression: ['pk', 'sk', ...attributes.map((name) => `#${name}`)].join(', '),
    ExpressionAttributeNames: Object.fromEntries(attributes.map((name) => [`#${name}`, name])),
  };
}

interface Refusal {
  readonly Item?: Record<string, AttributeValue> | undefined;
}

function isRefusal(error: unknown): error is ConditionalCheckFailedException & Refusal {
  return error instanceof ConditionalCheckFailedException;
}

function unprocessed(what: string, count: number): TransientFault {
  return new TransientFault(`cannot ${what}: DynamoDB left ${count} items of a batch undone`, {
    hint: 'more was asked than the table or its partitions allow; it comes again',
  });
}
