/**
 * Puts records into a Kinesis stream, in order, and sends again what was not acknowledged. A record whose acknowledgement was
 * lost is sent twice: that is what `dedupe` is for.
 *
 * - A request goes when it is full, or when its first record has waited for `lingerMs`: a slow source loses nothing by waiting.
 * - Where the stream takes some records of a request and refuses others (throughput), the others follow in the next request,
 *   so that they come after their neighbours. Between requests the order is that of the source.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type KinesisClient,
  PutRecordsCommand,
  type PutRecordsRequestEntry,
  type PutRecordsResultEntry,
} from '@aws-sdk/client-kinesis';
import { PUT_RECORDS_BYTES_MAX, PUT_RECORDS_ENTRIES_MAX } from '../core/limits.ts';

export interface RecordProducerOptions {
  readonly client: KinesisClient;
  readonly stream: string;
  /** Requests under way at once; more than 1 gives up the order between requests. */
  readonly requestsMax: number;
  /** How long a record waits for others at most; without it, until a request is full or the producer is flushed. */
  readonly lingerMs?: number;
  /** Of the first wait after a request that the stream took no record of; then twice as long each time. */
  readonly backoffMs?: number;
  /** Called when a request failed; resolves to true to send it again. */
  readonly onFailure: (error: unknown) => Promise<boolean>;
}

/** The newest acknowledged record of each shard. */
export type Acknowledged = ReadonlyMap<string, string>;

interface Entry {
  readonly record: PutRecordsRequestEntry;
  /** Where the source has it. */
  readonly number: number;
}

/** Half of the quota: the other half is for the encoding around the bytes. */
const REQUEST_BYTES_MAX = PUT_RECORDS_BYTES_MAX / 2;
const BACKOFF_MS = 100;
const BACKOFF_MS_MAX = 5_000;
/** Requests without a record taken, one after the other, after which it gives up: about half a minute. */
const FRUITLESS_MAX = 12;

export class RecordProducer {
  readonly #options: RecordProducerOptions;
  readonly #acknowledged = new Map<string, string>();
  readonly #running = new Set<Promise<void>>();
  readonly #unacknowledged = new Set<number>();
  #entries: Entry[] = [];
  #byteLength = 0;
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> = Promise.resolve();
  #failure: unknown = null;
  #fail: (error: unknown) => void = () => {};
  acknowledgedCount = 0;
  resentCount = 0;
  /** Rejects when a request failed for good; never resolves. */
  readonly failed: Promise<never>;

  constructor(options: RecordProducerOptions) {
    this.#options = options;
    this.failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    // Each `put` and `flush` throws it too.
    this.failed.catch(() => {});
  }

  get acknowledged(): Acknowledged {
    return this.#acknowledged;
  }

  /** The lowest number of a record that was taken here and not acknowledged; null if there is none. */
  get firstUnacknowledged(): number | null {
    let lowest: number | null = null;
    for (const number of this.#unacknowledged) {
      if (lowest === null || number < lowest) lowest = number;
    }
    return lowest;
  }

  /** Takes a record; waits while enough requests are under way. `number` is where the source has it. */
  async put(partitionKey: string, data: Uint8Array, number = 0): Promise<void> {
    const byteLength = data.byteLength + Buffer.byteLength(partitionKey);
    if (this.#byteLength + byteLength > REQUEST_BYTES_MAX) await this.#send();
    this.#throwFailure();
    this.#entries.push({ record: { PartitionKey: partitionKey, Data: data }, number });
    this.#unacknowledged.add(number);
    this.#byteLength += byteLength;
    if (this.#entries.length >= PUT_RECORDS_ENTRIES_MAX) await this.#send();
    else this.#linger();
  }

  /** Sends what is left and waits until everything is acknowledged. */
  async flush(): Promise<void> {
    await this.#send();
    await Promise.all(this.#running);
    this.#throwFailure();
  }

  #linger(): void {
    const { lingerMs } = this.#options;
    if (lingerMs === undefined || this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      // The failure is thrown by the next call, and told by `failed`.
      void this.#send().catch(() => {});
    }, lingerMs);
  }

  /** One after the other, so that requests begin in the order of their records. */
  #send(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const entries = this.#entries;
    this.#entries = [];
    this.#byteLength = 0;
    const sent = this.#sending.then(() => this.#begin(entries));
    this.#sending = sent.catch(() => {});
    return sent;
  }

  async #begin(entries: Entry[]): Promise<void> {
    if (entries.length === 0) return;
    while (this.#running.size >= this.#options.requestsMax) await Promise.race(this.#running);
    this.#throwFailure();
    const request: Promise<void> = this.#request(entries)
      .catch((error: unknown) => {
        this.#failure ??= error;
        this.#fail(error);
      })
      .finally(() => this.#running.delete(request));
    this.#running.add(request);
  }

  async #request(entries: Entry[]): Promise<void> {
    let left = entries;
    let fruitless = 0;
    while (left.length > 0) {
      try {
        const { refused, why } = await this.#attempt(left);
        fruitless = refused.length < left.length ? 0 : fruitless + 1;
        if (fruitless > FRUITLESS_MAX) throw new Error(`the stream takes no record: ${why}`);
        left = refused;
        if (left.length > 0) await this.#backOff(fruitless);
      } catch (error) {
        if (!(await this.#options.onFailure(error))) throw error;
        this.resentCount += left.length;
      }
    }
  }

  #backOff(fruitless: number): Promise<void> {
    const { backoffMs = BACKOFF_MS } = this.#options;
    return sleep(Math.min(backoffMs * 2 ** fruitless, BACKOFF_MS_MAX));
  }

  /** The entries that were not taken, and why the first was not. */
  async #attempt(entries: Entry[]): Promise<{ refused: Entry[]; why: string }> {
    const { client, stream } = this.#options;
    const records = entries.map(({ record }) => record);
    const command = new PutRecordsCommand({ StreamName: stream, Records: records });
    const { Records: results = [] } = await client.send(command);
    const refused: Entry[] = [];
    let why = '';
    for (const [index, entry] of entries.entries()) {
      const result: PutRecordsResultEntry = results[index] ?? {};
      const { ShardId: shardId, SequenceNumber: sequenceNumber } = result;
      if (shardId === undefined || sequenceNumber === undefined) {
        refused.push(entry);
        if (why === '')
          why = `${result.ErrorCode ?? 'no answer'} ${result.ErrorMessage ?? ''}`.trim();
      } else {
        this.#acknowledged.set(shardId, laterOf(this.#acknowledged.get(shardId), sequenceNumber));
        this.#unacknowledged.delete(entry.number);
        this.acknowledgedCount++;
      }
    }
    return { refused, why };
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure;
  }
}

function laterOf(a: string | undefined, b: string): string {
  if (a === undefined) return b;
  return BigInt(a) > BigInt(b) ? a : b;
}
