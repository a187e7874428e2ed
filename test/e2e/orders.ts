/**
 * The pipeline and records of the end-to-end tests: orders of shops.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  KinesisClient,
  PutRecordsCommand,
  type PutRecordsRequestEntry,
} from '@aws-sdk/client-kinesis';
import type { Dev } from './tidemark-process.ts';

export const ORDERS = {
  name: 'shop',
  stream: 'orders',
  time: { field: 'at', lateness: '1m', skew: '10m' },
  dedupe: { id: 'order', within: '1h' },
  views: {
    by_shop: {
      groupBy: ['shop'],
      aggregates: { orders: { count: '*' }, revenue: { sum: 'price' } },
    },
    minutes: {
      groupBy: ['shop'],
      window: { tumbling: '1m' },
      late: 'side',
      aggregates: { orders: { count: '*' } },
    },
  },
};

export const PARQUET = fileURLToPath(new URL('./data/orders.parquet', import.meta.url));

export function writePipeline(folder: string, pipeline: object = ORDERS): void {
  writeFileSync(join(folder, 'shop.json'), JSON.stringify(pipeline));
}

export interface Order {
  readonly order: string;
  readonly at: string;
  readonly shop: string;
  readonly price: number;
}

export function order(id: string, shop: string, price: number, at = '2026-03-01T10:00:00Z'): Order {
  return { order: id, at, shop, price };
}

/** `count` orders, half of them in each of two shops, at a price of 1.5. */
export function manyOrders(prefix: string, count: number): Order[] {
  return Array.from({ length: count }, (_, index) =>
    order(`${prefix}-${index}`, index % 2 === 0 ? 'north' : 'south', 1.5),
  );
}

/** Puts records by the official SDK, each an object or raw bytes; the positions that `after` waits for. */
export async function put(
  dev: Pick<Dev, 'url'>,
  records: readonly (object | Uint8Array)[],
): Promise<string[]> {
  const client = new KinesisClient({
    endpoint: dev.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
  });
  const newest = new Map<string, string>();
  try {
    for (let from = 0; from < records.length; from += 500) {
      const Records = records.slice(from, from + 500).map(entryOf);
      const answer = await client.send(new PutRecordsCommand({ StreamName: 'orders', Records }));
      for (const { ShardId, SequenceNumber } of answer.Records ?? []) {
        newest.set(ShardId as string, SequenceNumber as string);
      }
    }
  } finally {
    client.destroy();
  }
  return [...newest].map(([shardId, sequenceNumber]) => `${shardId}:${sequenceNumber}`);
}

export interface ViewAnswer {
  /** Absent: nothing was waited for. */
  readonly reached?: boolean;
  readonly complete: boolean;
  readonly rows: readonly {
    readonly key: Readonly<Record<string, unknown>>;
    readonly values: Readonly<Record<string, number>>;
  }[];
}

/** Rows of a view once the records of `after` are in, by group: what an aggregate says. */
export async function groups(
  dev: Dev,
  view: string,
  aggregate: string,
  after: readonly string[],
): Promise<Record<string, number | undefined>> {
  const query = new URLSearchParams(after.map((position): [string, string] => ['after', position]));
  const { status, json } = await dev.call(`/v1/views/${view}?${query}`);
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(json)}`);
  const { reached, rows } = json as ViewAnswer;
  if (reached === false) throw new Error('the records are not in');
  return Object.fromEntries(
    rows.map(({ key, values }) => [String(key['shop']), values[aggregate]]),
  );
}

/** Under its own id, so that a record that is sent again meets itself. */
function entryOf(record: object | Uint8Array): PutRecordsRequestEntry {
  if (record instanceof Uint8Array) return { PartitionKey: 'bytes', Data: record };
  const key = 'order' in record ? String(record.order) : 'no id';
  return { PartitionKey: key, Data: new TextEncoder().encode(JSON.stringify(record)) };
}
