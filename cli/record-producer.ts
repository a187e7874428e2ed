/**
 * Puts records into a Kinesis stream in full batches, in order, and sends again what was not acknowledged. A record whose
 * acknowledgement was lost is sent twice: that is what `dedupe` is for.
 */
import {
  type KinesisClient,
  PutRecordsCommand,
  type PutRecordsRequestEntry,
} from '@aws-sdk/client-kinesis';
import { PUT_RECORDS_BYTES_MAX, PUT_RECORDS_ENTRIES_MAX } from '../core/limits.ts';

export interface RecordProducerOptions {
  readonly client: KinesisClient;
  readonly stream: string;
  /** Requests under way at once; more than 1 gives up the order between requests. */
  readonly requestsMax: number;
  /** Called when a request failed; resolves to true to send it again. */
  readonly onFailure: (error: unknown) => Promise<boolean>;
}

/** The newest acknowledged record of each shard. */
export type Acknowledged = ReadonlyMap<string, string>;

/** Half of the quota: the other half is for the encoding around the bytes. */
const REQUEST_BYTES_MAX = PUT_RECORDS_BYTES_MAX / 2;

export class RecordProducer {
  readonly #options: RecordProducerOptions;
  readonly #acknowledged = new Map<string, string>();
  readonly #running = new Set<Promise<void>>();
  #entries: PutRecordsRequestEntry[] = [];
  #byteLength = 0;
  #failure: unknown = null;
  acknowledgedCount = 0;
  resentCount = 0;

  constructor(options: RecordProducerOptions) {
    this.#options = options;
  }

  get acknowledged(): Acknowledged {
    return this.#acknowledged;
  }

  /** Takes a record; waits while enough requests are under way. */
  async put(partitionKey: string, data: Uint8Array): Promise<void> {
    if (this.#byteLength + data.byteLength > REQUEST_BYTES_MAX) await this.#send();
    this.#entries.push({ PartitionKey: partitionKey, Data: data });
    this.#byteLength += data.byteLength + partitionKey.length;
    if (this.#entries.length >= PUT_RECORDS_ENTRIES_MAX) await this.#send();
  }

  /** Sends what is left and waits until everything is acknowledged. */
  async flush(): Promise<void> {
    await this.#send();
    await Promise.all(this.#running);
    this.#throwFailure();
  }

  async #send(): Promise<void> {
    if (this.#entries.length === 0) return;
    const entries = this.#entries;
    this.#entries = [];
    this.#byteLength = 0;
    while (this.#running.size >= this.#options.requestsMax) await Promise.race(this.#running);
    this.#throwFailure();
    const request: Promise<void> = this.#request(entries)
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => this.#running.delete(request));
    this.#running.add(request);
  }

  async #request(entries: PutRecordsRequestEntry[]): Promise<void> {
    let left = entries;
    while (left.length > 0) {
      try {
        left = await this.#attempt(left);
      } catch (error) {
        if (!(await this.#options.onFailure(error))) throw error;
        this.resentCount += left.length;
      }
    }
  }

  /** The entries that were not taken. */
  async #attempt(entries: PutRecordsRequestEntry[]): Promise<PutRecordsRequestEntry[]> {
    const { client, stream } = this.#options;
    const command = new PutRecordsCommand({ StreamName: stream, Records: entries });
    const { Records = [] } = await client.send(command);
    const refused: PutRecordsRequestEntry[] = [];
    for (const [index, entry] of entries.entries()) {
      const { ShardId, SequenceNumber } = Records[index] ?? {};
      if (ShardId === undefined || SequenceNumber === undefined) refused.push(entry);
      else {
        this.#acknowledged.set(ShardId, laterOf(this.#acknowledged.get(ShardId), SequenceNumber));
        this.acknowledgedCount++;
      }
    }
    if (refused.length === entries.length)
      throw new Error('the stream took no record of a request');
    return refused;
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure;
  }
}

function laterOf(a: string | undefined, b: string): string {
  if (a === undefined) return b;
  return BigInt(a) > BigInt(b) ? a : b;
}
