/**
 * Tip marks in DynamoDB: `tip#<shard>`, sorted `start` for the mark of START and `last` for the other.
 *
 * A write whose answer was lost finds itself when it is tried again: it is refused, and what was wanted is there.
 */
import type { Creation } from '../../../core/ports.ts';
import { comparePositions, type Position, START } from '../../../core/position.ts';
import type { TipMark, TipMarks } from '../kinesis/tip-marks.ts';
import type { DynamoTable, ItemKey } from './dynamo-table.ts';
import { type Item, numberOf, numberValue, textOf, textValue } from './item-values.ts';
import { keyOfText } from './key-text.ts';

export class DynamoTipMarks implements TipMarks {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async read(shardId: string, after: Position): Promise<TipMark | null> {
    const item = await this.#table.get(`read the tip mark of ${shardId}`, keyOf(shardId, after));
    if (item === null) return null;
    const mark = parseItem(item);
    return mark.after.sequenceNumber === after.sequenceNumber ? mark : null;
  }

  async put(shardId: string, mark: TipMark): Promise<void> {
    await this.#table.putIf(`write the tip mark of ${shardId}`, itemOf(shardId, mark), {
      ConditionExpression: 'attribute_not_exists(pk) OR #atMs < :atMs',
      ExpressionAttributeNames: { '#atMs': 'atMs' },
      ExpressionAttributeValues: { ':atMs': numberValue(mark.atMs) },
    });
  }

  create(shardId: string, mark: TipMark): Promise<Creation> {
    return this.#table.create(`create the tip mark of ${shardId}`, itemOf(shardId, mark));
  }
}

function keyOf(shardId: string, after: Position): ItemKey {
  const isStart = comparePositions(after, START) === 0;
  return { pk: `tip#${keyOfText(shardId)}`, sk: isStart ? 'start' : 'last' };
}

function itemOf(shardId: string, { after, atMs, keptMs, oldest }: TipMark): Item {
  const { pk, sk } = keyOf(shardId, after);
  return {
    pk: { S: pk },
    sk: { S: sk },
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
