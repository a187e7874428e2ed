/**
 * HEADs in DynamoDB, one item each: `head#<slice>` with `rev`, `delivered` and `body`, and `hold` until the next write. An item is at most 1 KiB, so that a
 * write of it costs one write unit; hence the short names.
 */
import { assert } from '../../../core/assert.ts';
import { HEAD_BYTES_MAX } from '../../../core/limits.ts';
import type { CheckpointStore, HeadItem, HeadWrite } from '../../../core/ports.ts';
import type { ConditionalPut, DynamoTable, ItemKey } from './dynamo-table.ts';
import {
  bytesOf,
  bytesValue,
  type Item,
  itemByteLength,
  numberOf,
  numberValue,
  textOf,
  textValue,
} from './item-values.ts';
import { keyOfText } from './key-text.ts';
import { SliceDirectory } from './slice-directory.ts';

const DIRECTORY = 'slices';
/** The only item of its partition. */
const SORT_KEY = '-';

export class DynamoCheckpointStore implements CheckpointStore {
  readonly #table: DynamoTable;
  readonly #directory: SliceDirectory;

  constructor(table: DynamoTable) {
    this.#table = table;
    this.#directory = new SliceDirectory(table, DIRECTORY);
  }

  async readHead(sliceId: string): Promise<HeadItem | null> {
    const item = await this.#table.get(`read HEAD of ${sliceId}`, keyOf(sliceId));
    return item === null ? null : toHead(sliceId, item);
  }

  async createHead(head: HeadItem): Promise<HeadWrite> {
    const item = toItem(head);
    await this.#directory.enter(head.sliceId);
    return toWrite(head.sliceId, await this.#table.putIf(`create HEAD of ${head.sliceId}`, item));
  }

  async writeHead(head: HeadItem, ifRevision: number, passing: string | null): Promise<HeadWrite> {
    const passes = passing === null ? '' : ' OR #hold = :hold';
    const put = await this.#table.putIf(`write HEAD of ${head.sliceId}`, toItem(head), {
      ConditionExpression: `#rev = :rev AND #delivered <= :delivered AND (attribute_not_exists(#hold)${passes})`,
      ExpressionAttributeNames: { '#rev': 'rev', '#delivered': 'delivered', '#hold': 'hold' },
      ExpressionAttributeValues: {
        ':rev': numberValue(ifRevision),
        ':delivered': { S: head.delivered },
        ...(passing === null ? {} : { ':hold': textValue(passing) }),
      },
    });
    return toWrite(head.sliceId, put);
  }

  async holdHead(sliceId: string, hold: string | null, instead: string | null): Promise<void> {
    const replaces = instead === null ? '' : ' OR #hold = :instead';
    const values = {
      ...(hold === null ? {} : { ':hold': textValue(hold) }),
      ...(instead === null ? {} : { ':instead': textValue(instead) }),
    };
    await this.#table.updateIf(`hold HEAD of ${sliceId}`, keyOf(sliceId), {
      ConditionExpression: `attribute_exists(pk) AND (attribute_not_exists(#hold)${replaces})`,
      UpdateExpression: hold === null ? 'REMOVE #hold' : 'SET #hold = :hold',
      ExpressionAttributeNames: { '#hold': 'hold' },
      ...(Object.keys(values).length === 0 ? {} : { ExpressionAttributeValues: values }),
      ReturnValues: 'NONE',
    });
  }

  async listHeads(): Promise<HeadItem[]> {
    const sliceIds = await this.#directory.list();
    const items = await this.#table.batchGet('list the HEADs', sliceIds.map(keyOf));
    const found = new Map(items.map((item) => [item['pk']?.S, item]));
    return sliceIds.flatMap((sliceId) => {
      const item = found.get(keyOf(sliceId).pk);
      return item === undefined ? [] : [toHead(sliceId, item)];
    });
  }
}

function keyOf(sliceId: string): ItemKey {
  return { pk: `head#${keyOfText(sliceId)}`, sk: SORT_KEY };
}

function toItem({ sliceId, revision, delivered, body }: HeadItem): Item {
  const { pk, sk } = keyOf(sliceId);
  const item: Item = {
    pk: { S: pk },
    sk: { S: sk },
    rev: numberValue(revision),
    delivered: textValue(delivered),
    body: bytesValue(body),
  };
  const byteLength = itemByteLength(item);
  assert(byteLength <= HEAD_BYTES_MAX, 'head-fits-one-write-unit', () => `${byteLength} bytes`);
  return item;
}

function toHead(sliceId: string, item: Item): HeadItem {
  return {
    sliceId,
    revision: numberOf(item, 'rev'),
    delivered: textOf(item, 'delivered'),
    body: bytesOf(item, 'body'),
    ...(item['hold'] === undefined ? {} : { hold: textOf(item, 'hold') }),
  };
}

function toWrite(sliceId: string, put: ConditionalPut): HeadWrite {
  if (put.outcome === 'applied') return put;
  return {
    outcome: 'refused',
    current: put.current === null ? null : toHead(sliceId, put.current),
  };
}
