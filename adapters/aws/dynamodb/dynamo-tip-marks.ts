/**
 * Tip marks in DynamoDB: `tip#<shard>`, sorted `start#<stream id>` for the mark of START and `last#<stream id>` for the other. So the
 * mark of a stream that had the name before is none of this one's, and is never replaced in its place.
 *
 * A write whose answer was lost finds itself when it is tried again: it is refused, and what was wanted is there.
 */
import type { Creation, ShardDirectory } from '../../../core/ports.ts';
import { comparePositions, type Position, START } from '../../../core/position.ts';
import type { TipMark, TipMarks } from '../kinesis/tip-marks.ts';
import type { DynamoTable, ItemKey } from './dynamo-table.ts';
import { type Item, numberOf, numberValue, textOf, textValue } from './item-values.ts';
import { keyOfText } from './key-text.ts';

export class DynamoTipMarks implements TipMarks {
  readonly #table: DynamoTable;

  readonly #stream: Pick<ShardDirectory, 'streamId'>;

  constructor(table: DynamoTable, stream: Pick<ShardDirectory, 'streamId'>) {
    this.#table = table;
    this.#stream = stream;
  }

  async read(shardId: string, after: Position): Promise<TipMark | null> {
    const key = await this.#keyOf(shardId, after);
    const item = await this.#table.get(`read the tip mark of ${shardId}`, key);
    if (item === null) return null;
    const mark = parseItem(item);
    return mark.after.sequenceNumber === after.sequenceNumber ? mark : null;
  }

  async put(shardId: string, mark: TipMark): Promise<void> {
    const item = { ...(await this.#keyItem(shardId, mark)), ...valuesOf(mark) };
    await this.#table.putIf(`write the tip mark of ${shardId}`, item, {
      ConditionExpression: 'attribute_not_exists(pk) OR #atMs < :atMs',
      ExpressionAttributeNames: { '#atMs': 'atMs' },
      ExpressionAttributeValues: { ':atMs': numberValue(mark.atMs) },
    });
  }

  async create(shardId: string, mark: TipMark): Promise<Creation> {
    const item = { ...(await this.#keyItem(shardId, mark)), ...valuesOf(mark) };
    return this.#table.create(`create the tip mark of ${shardId}`, item);
  }

  async #keyItem(shardId: string, { after }: TipMark): Promise<Item> {
    const { pk, sk } = await this.#keyOf(shardId, after);
    return { pk: { S: pk }, sk: { S: sk } };
  }

  async #keyOf(shardId: string, after: Position): Promise<ItemKey> {
    const place = comparePositions(after, START) === 0 ? 'start' : 'last';
    return { pk: `tip#${keyOfText(shardId)}`, sk: `${place}#${await this.#stream.streamId()}` };
  }
}

function valuesOf({ after, atMs, keptMs, oldest }: TipMark): Item {
  return {
    sequenceNumber: textValue(after.sequenceNumber),
    subSequence: numberValue(after.subSequence),
    atMs: numberValue(atMs),
    keptMs: numberValue(keptMs),
    ...(oldest === null ? {} : { oldest: textValue(oldest) }),
  };
}

function parseItem(item: Item): TipMark {
  return {
    after: {
      sequenceNumber: textOf(item, 'sequenceNumber'),
      subSequence: numberOf(item, 'subSequence'),
    },
    atMs: numberOf(item, 'atMs'),
    keptMs: numberOf(item, 'keptMs'),
    oldest: item['oldest'] === undefined ? null : textOf(item, 'oldest'),
  };
}
