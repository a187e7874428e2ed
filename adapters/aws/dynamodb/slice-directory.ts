/**
 * The slices that have items of a kind: one item each, in one partition, since DynamoDB can list no partition keys. A slice
 * is entered before its first item is written. A crash between leaves an entry that leads to nothing: readers skip it.
 */
import type { DynamoTable } from './dynamo-table.ts';
import { FIRST_KEY, keyOfText, LAST_KEY, textOfKey } from './key-text.ts';

export class SliceDirectory {
  readonly #table: DynamoTable;
  readonly #pk: string;
  /** Slices that this process has entered. Entries are never removed. */
  readonly #entered = new Set<string>();

  /** `pk` is the directory's partition. */
  constructor(table: DynamoTable, pk: string) {
    this.#table = table;
    this.#pk = pk;
  }

  async enter(sliceId: string): Promise<void> {
    if (this.#entered.has(sliceId)) return;
    const item = { pk: { S: this.#pk }, sk: { S: keyOfText(sliceId) } };
    await this.#table.create(`enter ${sliceId} in the directory`, item);
    this.#entered.add(sliceId);
  }

  /** Ids of slices, ordered by the bytes of their texts. */
  async list(): Promise<string[]> {
    const sliceIds: string[] = [];
    const all = { pk: this.#pk, from: FIRST_KEY, to: LAST_KEY };
    for await (const { sk } of this.#table.query('list the slices', all)) {
      sliceIds.push(textOfKey(sk?.S ?? ''));
    }
    return sliceIds;
  }
}
