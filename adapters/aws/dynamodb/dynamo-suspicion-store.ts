/**
 * Suspicions of slices in DynamoDB: `suspicion#<slice>`, one item each. The last writer wins.
 */
import type { Suspicion, SuspicionStore } from '../../../core/ports.ts';
import type { DynamoTable, ItemKey } from './dynamo-table.ts';
import { numberOf, numberValue, textOf, textValue } from './item-values.ts';
import { keyOfText } from './key-text.ts';

/** The only item of its partition. */
const SORT_KEY = '-';

export class DynamoSuspicionStore implements SuspicionStore {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async read(sliceId: string): Promise<Suspicion | null> {
    const item = await this.#table.get(`read the suspicion of ${sliceId}`, keyOf(sliceId));
    if (item === null) return null;
    return {
      position: {
        sequenceNumber: textOf(item, 'sequenceNumber'),
        subSequence: numberOf(item, 'subSequence'),
      },
      attempts: numberOf(item, 'attempts'),
      chunkRecords: numberOf(item, 'chunkRecords'),
    };
  }

  async write(sliceId: string, suspicion: Suspicion | null): Promise<void> {
    const { pk, sk } = keyOf(sliceId);
    if (suspicion === null) {
      await this.#table.delete(`clear the suspicion of ${sliceId}`, { pk, sk });
      return;
    }
    const { position, attempts, chunkRecords } = suspicion;
    await this.#table.put(`write the suspicion of ${sliceId}`, {
      pk: { S: pk },
      sk: { S: sk },
      sequenceNumber: textValue(position.sequenceNumber),
      subSequence: numberValue(position.subSequence),
      attempts: numberValue(attempts),
      chunkRecords: numberValue(chunkRecords),
    });
  }
}

function keyOf(sliceId: string): ItemKey {
  return { pk: `suspicion#${keyOfText(sliceId)}`, sk: SORT_KEY };
}
