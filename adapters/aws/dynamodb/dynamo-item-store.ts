/**
 * Small immutable blobs as items of DynamoDB: `blob#<slice>#<part>`, where the slice is the first name of a key. The blobs of
 * a slice are spread over a few partitions by a hash of their key, since one partition takes 1,000 write units a second.
 * A listing merges them.
 *
 * Part of the table's format: neither the hash nor the number of parts may change.
 */
import { assert } from '../../../core/assert.ts';
import { encodeText } from '../../../core/bytes.ts';
import { crc32c } from '../../../core/crc32c.ts';
import {
  type BlobStore,
  type Clock,
  type Creation,
  isBlobKey,
  type StoredObject,
} from '../../../core/ports.ts';
import type { DynamoTable, ItemKey } from './dynamo-table.ts';
import { bytesOf, bytesValue, type Item, numberOf, numberValue, textOf } from './item-values.ts';
import { afterPrefix, justAfter, keyOfText } from './key-text.ts';

const PARTITION = 'blob#';
const PART_COUNT = 4;
/** A listing fetches no bytes of blobs. */
const LISTED = ['byteLength', 'createdMs'];

export class DynamoItemStore implements BlobStore {
  readonly #table: DynamoTable;
  readonly #clock: Clock;

  /** `clock` says when a blob was created: DynamoDB does not tell. */
  constructor(table: DynamoTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  async create(key: string, bytes: Uint8Array): Promise<Creation> {
    const { pk, sk } = itemKey(key);
    return this.#table.create(`create ${key}`, {
      pk: { S: pk },
      sk: { S: sk },
      createdMs: numberValue(this.#clock.nowMs()),
      byteLength: numberValue(bytes.length),
      body: bytesValue(bytes),
    });
  }

  async read(key: string): Promise<Uint8Array | null> {
    const item = await this.#table.get(`read ${key}`, itemKey(key));
    return item === null ? null : bytesOf(item, 'body');
  }

  /** The whole item is read: DynamoDB charges no less for a part. */
  async readRange(key: string, from: number, to: number): Promise<Uint8Array | null> {
    assert(
      from >= 0 && from <= to,
      'a-range-does-not-end-before-it-begins',
      () => `${from}..${to}`,
    );
    return (await this.read(key))?.slice(from, to) ?? null;
  }

  async list(prefix: string, after: string | null, limit: number): Promise<StoredObject[]> {
    assert(limit > 0, 'list-limit-is-positive');
    const slash = prefix.indexOf('/');
    if (slash < 0) return this.#listEverywhere(prefix, after, limit);
    const slice = keyOfText(prefix.slice(0, slash));
    const [begin, mark] = [keyOfText(prefix), keyOfText(after ?? '')];
    const [from, to] = [mark < begin ? begin : justAfter(mark), afterPrefix(begin)];
    const parts = Array.from({ length: PART_COUNT }, (_, part) =>
      this.#table.query(
        `list ${prefix}`,
        { pk: partition(slice, part), from, to },
        // What a fair share of the page needs; a part that holds more is asked again.
        { limit: Math.ceil(limit / PART_COUNT) + 1, attributes: LISTED },
      ),
    );
    const found: StoredObject[] = [];
    for await (const item of merged(parts)) {
      found.push(toStored(item));
      if (found.length === limit) break;
    }
    return found;
  }

  async delete(keys: readonly string[]): Promise<void> {
    await this.#table.batchDelete(`delete ${keys.length} blobs`, keys.map(itemKey));
  }

  /** A prefix that names no slice reads the whole table. The core never asks so: it always names the slice. */
  async #listEverywhere(
    prefix: string,
    after: string | null,
    limit: number,
  ): Promise<StoredObject[]> {
    const found: Item[] = [];
    for await (const item of this.#table.scan(`list ${prefix}`, { attributes: LISTED })) {
      if (!textOf(item, 'pk').startsWith(PARTITION)) continue;
      const key = textOf(item, 'sk');
      if (key.startsWith(prefix) && (after === null || key > after)) found.push(item);
    }
    return found.sort(bySortKey).slice(0, limit).map(toStored);
  }
}

function itemKey(key: string): ItemKey {
  assert(isBlobKey(key), 'blob-key-is-portable', () => JSON.stringify(key));
  const slice = key.split('/', 1).join();
  return { pk: partition(slice, crc32c(encodeText(key)) % PART_COUNT), sk: key };
}

function partition(slice: string, part: number): string {
  return `${PARTITION}${slice}#${part}`;
}

function toStored(item: Item): StoredObject {
  return {
    key: textOf(item, 'sk'),
    byteLength: numberOf(item, 'byteLength'),
    createdMs: numberOf(item, 'createdMs'),
  };
}

function bySortKey(a: Item, b: Item): number {
  return textOf(a, 'sk') < textOf(b, 'sk') ? -1 : 1;
}

/** The items of all parts in one order; each part is in order. */
async function* merged(parts: readonly AsyncGenerator<Item>[]): AsyncGenerator<Item> {
  const waiting = (await Promise.all(parts.map(begun))).filter((part) => part !== null);
  while (waiting.length > 0) {
    waiting.sort((a, b) => bySortKey(a.item, b.item));
    const [first] = waiting as [Begun];
    yield first.item;
    const next = await begun(first.rest);
    waiting.splice(0, 1, ...(next === null ? [] : [next]));
  }
}

interface Begun {
  readonly item: Item;
  readonly rest: AsyncGenerator<Item>;
}

async function begun(items: AsyncGenerator<Item>): Promise<Begun | null> {
  const { value, done } = await items.next();
  return done === true ? null : { item: value, rest: items };
}
