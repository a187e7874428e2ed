/**
 * The listing of quarantined records in DynamoDB: `quarantine#<slice>` / timeline and position. Data of a record that is too
 * large for an item lies in the object store, under a name made from the record's id and its data, and the item names it. It
 * is written first: a crash between the two leaves an object that the repeat of `put` finds.
 */
import { createHash } from 'node:crypto';
import { assert } from '../../../core/assert.ts';
import { encodeText } from '../../../core/bytes.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import {
  type BlobStore,
  isQuarantineId,
  type QuarantinedRecord,
  type QuarantineIndex,
  quarantineId,
} from '../../../core/ports.ts';
import type { DynamoTable, ItemKey, KeyRange } from './dynamo-table.ts';
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
import { FIRST_KEY, justAfter, keyOfText, LAST_KEY } from './key-text.ts';
import { SliceDirectory } from './slice-directory.ts';

const DIRECTORY = 'quarantine-slices';
/** Well below the 400 KB of an item. */
const ITEM_BYTES_MAX = 300 * 1024;
/** Records that are written at once. */
const LANES = 16;

export class DynamoQuarantineIndex implements QuarantineIndex {
  readonly #table: DynamoTable;
  readonly #objects: BlobStore;
  readonly #directory: SliceDirectory;

  /** `objects` keeps the data of large records. */
  constructor(table: DynamoTable, objects: BlobStore) {
    this.#table = table;
    this.#objects = objects;
    this.#directory = new SliceDirectory(table, DIRECTORY);
  }

  async put(records: readonly QuarantinedRecord[]): Promise<void> {
    // Copied before the first call: the caller's bytes may change.
    const entries = records.map((record) => ({ record, item: toItem(record) }));
    for (const sliceId of new Set(records.map((record) => record.sliceId))) {
      await this.#directory.enter(sliceId);
    }
    await inLanes(entries, ({ record, item }) => this.#put(record, item));
  }

  async get(id: string): Promise<QuarantinedRecord | null> {
    if (!isQuarantineId(id)) return null;
    const sliceId = id.slice(0, id.indexOf('/'));
    const item = await this.#table.get('read a quarantined record', itemKey(sliceId, id));
    return item === null ? null : this.#toRecord(sliceId, item);
  }

  async list(after: string | null, limit: number): Promise<QuarantinedRecord[]> {
    assert(limit > 0, 'list-limit-is-positive');
    const found: [sliceId: string, item: Item][] = [];
    for await (const each of this.#items(after ?? '', limit)) {
      found.push(each);
      if (found.length === limit) break;
    }
    return Promise.all(found.map(([sliceId, item]) => this.#toRecord(sliceId, item)));
  }

  /** Items ordered by id, those after `after` only. */
  async *#items(after: string, limit: number): AsyncGenerator<[sliceId: string, item: Item]> {
    const sliceIds = await this.#directory.list();
    // Ids sort by slice and slash: `slice-1/…` comes after `slice-1-0/…`.
    sliceIds.sort((a, b) => (`${a}/` < `${b}/` ? -1 : 1));
    for (const sliceId of sliceIds) {
      const range = rangeAfter(sliceId, after);
      if (range === null) continue;
      for await (const item of this.#table.query('read the quarantine', range, { limit })) {
        yield [sliceId, item];
      }
    }
  }

  async #put(record: QuarantinedRecord, item: Item): Promise<void> {
    const what = 'list a quarantined record';
    if (itemByteLength(item) <= ITEM_BYTES_MAX) {
      await this.#table.create(what, item);
      return;
    }
    const { data, ...rest } = item;
    const bytes = data?.B ?? new Uint8Array(0);
    const key = objectKey(record, bytes);
    await this.#objects.create(key, bytes);
    await this.#table.create(what, { ...rest, object: { S: key } });
  }

  async #toRecord(sliceId: string, item: Item): Promise<QuarantinedRecord> {
    return {
      sliceId,
      shardId: textOf(item, 'shardId'),
      timeline: numberOf(item, 'timeline'),
      epoch: numberOf(item, 'epoch'),
      sequenceNumber: textOf(item, 'sequenceNumber'),
      subSequence: numberOf(item, 'subSequence'),
      arrivalMs: numberOf(item, 'arrivalMs'),
      partitionKey: textOf(item, 'partitionKey'),
      reason: textOf(item, 'reason'),
      detail: textOf(item, 'detail'),
      planHash: textOf(item, 'planHash'),
      data: item['object'] === undefined ? bytesOf(item, 'data') : await this.#dataOf(item),
    };
  }

  async #dataOf(item: Item): Promise<Uint8Array> {
    const key = textOf(item, 'object');
    const data = await this.#objects.read(key);
    if (data !== null) return data;
    throw new CorruptStateFault(`the data of a quarantined record are gone: ${key}`, {
      hint: 'something deleted the object: bring back its last version, or delete the item that names it',
    });
  }
}

/** Works on a few at once. After a failure none is begun, and those that are under way are waited for. */
async function inLanes<T>(all: readonly T[], work: (each: T) => Promise<void>): Promise<void> {
  const waiting = [...all];
  const lane = async () => {
    for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
      try {
        await work(each);
      } catch (error) {
        waiting.length = 0;
        throw error;
      }
    }
  };
  for (const lanes of await Promise.allSettled(Array.from({ length: LANES }, lane))) {
    if (lanes.status === 'rejected') throw lanes.reason;
  }
}

/** The items of a slice whose ids come after `after`; null if none can. */
function rangeAfter(sliceId: string, after: string): KeyRange | null {
  const begin = `${sliceId}/`;
  const pk = partition(sliceId);
  if (after.startsWith(begin)) {
    return { pk, from: justAfter(keyOfText(after.slice(begin.length))), to: LAST_KEY };
  }
  return begin > after ? { pk, from: FIRST_KEY, to: LAST_KEY } : null;
}

function itemKey(sliceId: string, id: string): ItemKey {
  return { pk: partition(sliceId), sk: id.slice(sliceId.length + 1) };
}

function partition(sliceId: string): string {
  return `quarantine#${keyOfText(sliceId)}`;
}

function objectKey(record: QuarantinedRecord, data: Uint8Array): string {
  const id = encodeText(quarantineId(record));
  return `quarantine/${createHash('sha256').update(id).update(data).digest('hex')}`;
}

function toItem(record: QuarantinedRecord): Item {
  const id = quarantineId(record);
  assert(isQuarantineId(id), 'a-quarantine-id-is-one', () => JSON.stringify(id));
  const { pk, sk } = itemKey(record.sliceId, id);
  return {
    pk: { S: pk },
    sk: { S: sk },
    shardId: textValue(record.shardId),
    timeline: numberValue(record.timeline),
    epoch: numberValue(record.epoch),
    sequenceNumber: textValue(record.sequenceNumber),
    subSequence: numberValue(record.subSequence),
    arrivalMs: numberValue(record.arrivalMs),
    partitionKey: textValue(record.partitionKey),
    reason: textValue(record.reason),
    detail: textValue(record.detail),
    planHash: textValue(record.planHash),
    data: bytesValue(record.data),
  };
}
