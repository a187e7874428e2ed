/**
 * A producer that never gives up: what was not acknowledged is sent again until it is, as often as the other side dies.
 * Some answers it loses by itself, as a network would: a kill rarely falls between disk and answer.
 */
import {
  type KinesisClient,
  PutRecordCommand,
  PutRecordsCommand,
  type PutRecordsRequestEntry,
} from '@aws-sdk/client-kinesis';
import type { SoakLedger } from './soak-ledger.ts';
import type { Random, SoakRecord, SoakRecords } from './soak-records.ts';

export interface SoakProducerOptions {
  readonly client: KinesisClient;
  readonly stream: string;
  readonly records: SoakRecords;
  readonly ledger: SoakLedger;
  readonly random: Random;
  readonly recordsPerSecond: number;
}

const BATCH_MAX = 500;
const RETRY_MS = 50;
const LOST_ANSWERS_SHARE = 0.02;

export class SoakProducer {
  readonly #options: SoakProducerOptions;
  #stopped = false;
  /** Requests that failed, and records that were sent again for that. */
  failures = 0;
  resent = 0;

  constructor(options: SoakProducerOptions) {
    this.#options = options;
  }

  /** Resolves after `stop`, when all that it ever took is acknowledged. */
  async run(): Promise<void> {
    const { random, records, recordsPerSecond } = this.#options;
    while (!this.#stopped) {
      const size = random() < 0.2 ? 1 : 1 + Math.floor(random() * BATCH_MAX);
      const startMs = performance.now();
      await this.#deliver(Array.from({ length: size }, () => records.next()));
      const leftMs = (size / recordsPerSecond) * 1000 - (performance.now() - startMs);
      if (leftMs > 0) await pause(leftMs);
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  async #deliver(batch: SoakRecord[]): Promise<void> {
    let left = batch;
    while (left.length > 0) {
      try {
        left = await this.#attempt(left);
      } catch {
        this.failures++;
        this.resent += left.length;
        await pause(RETRY_MS);
      }
    }
  }

  /** The records that were not taken. */
  async #attempt(batch: SoakRecord[]): Promise<SoakRecord[]> {
    const { client, stream, ledger } = this.#options;
    const [first] = batch as [SoakRecord];
    if (batch.length === 1) {
      const input = { StreamName: stream, ...entryOf(first) };
      const { ShardId, SequenceNumber } = await client.send(new PutRecordCommand(input));
      this.#mayLoseAnswer();
      ledger.acknowledge(first, ShardId as string, SequenceNumber as string);
      return [];
    }
    const command = new PutRecordsCommand({ StreamName: stream, Records: batch.map(entryOf) });
    const { Records = [] } = await client.send(command);
    this.#mayLoseAnswer();
    return batch.filter((record, index) => {
      const { ShardId, SequenceNumber } = Records[index] ?? {};
      if (ShardId === undefined || SequenceNumber === undefined) return true;
      ledger.acknowledge(record, ShardId, SequenceNumber);
      return false;
    });
  }

  #mayLoseAnswer(): void {
    if (this.#options.random() < LOST_ANSWERS_SHARE) throw new Error('the answer was lost');
  }
}

function entryOf({ partitionKey, data }: SoakRecord): PutRecordsRequestEntry {
  return { PartitionKey: partitionKey, Data: data };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
