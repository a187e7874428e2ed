/**
 * Ages that ticks saw, in DynamoDB: `age#<slice>`, one item each. The last writer wins.
 */
import type { AgeStore, ObservedAge } from '../../../core/ports.ts';
import type { DynamoTable, ItemKey } from './dynamo-table.ts';
import { numberOf, numberValue, textOf } from './item-values.ts';
import { keyOfText, textOfKey } from './key-text.ts';

const PARTITION = 'age#';
/** The only item of its partition. */
const SORT_KEY = '-';

export class DynamoAgeStore implements AgeStore {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async write({ sliceId, behindMs, atMs }: ObservedAge): Promise<void> {
    const { pk, sk } = keyOf(sliceId);
    await this.#table.put(`write the age of ${sliceId}`, {
      pk: { S: pk },
      sk: { S: sk },
      behindMs: numberValue(behindMs),
      atMs: numberValue(atMs),
    });
  }

  async read(sliceIds: readonly string[]): Promise<ReadonlyMap<string, ObservedAge>> {
    const items = await this.#table.batchGet('read the ages', sliceIds.map(keyOf));
    return new Map(
      items.map((item) => {
        const sliceId = textOfKey(textOf(item, 'pk').slice(PARTITION.length));
        const age = { behindMs: numberOf(item, 'behindMs'), atMs: numberOf(item, 'atMs') };
        return [sliceId, { sliceId, ...age }];
      }),
    );
  }
}

function keyOf(sliceId: string): ItemKey {
  return { pk: `${PARTITION}${keyOfText(sliceId)}`, sk: SORT_KEY };
}
