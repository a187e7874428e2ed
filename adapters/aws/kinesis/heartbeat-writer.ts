/**
 * Heartbeats into the stream, by PutRecords.
 */
import { type KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis';
import { TransientFault } from '../../../core/faults.ts';
import { PUT_RECORDS_ENTRIES_MAX } from '../../../core/limits.ts';
import type { HeartbeatEntry } from '../../../core/state/heartbeat.ts';
import type { AwsCalls } from '../aws-calls.ts';

export interface HeartbeatWriterOptions {
  readonly client: KinesisClient;
  readonly streamArn: string;
  readonly calls: AwsCalls;
}

export class HeartbeatWriter {
  readonly #options: HeartbeatWriterOptions;

  constructor(options: HeartbeatWriterOptions) {
    this.#options = options;
  }

  /** Durable when it returns. Those that a shard does not take are tried again, those that it took are not. */
  async put(entries: readonly HeartbeatEntry[]): Promise<void> {
    for (let from = 0; from < entries.length; from += PUT_RECORDS_ENTRIES_MAX) {
      await this.#putSome(entries.slice(from, from + PUT_RECORDS_ENTRIES_MAX));
    }
  }

  async #putSome(entries: readonly HeartbeatEntry[]): Promise<void> {
    const { client, streamArn, calls } = this.#options;
    let left = entries;
    await calls.send(`put heartbeats into ${streamArn}`, async (abortSignal) => {
      const command = new PutRecordsCommand({
        StreamARN: streamArn,
        Records: left.map(({ partitionKey, explicitHashKey, data }) => ({
          PartitionKey: partitionKey,
          ExplicitHashKey: explicitHashKey,
          Data: data,
        })),
      });
      const { Records = [] } = await client.send(command, { abortSignal });
      const refused = Records.find(({ ErrorCode }) => ErrorCode !== undefined);
      left = left.filter((_, index) => Records[index]?.SequenceNumber === undefined);
      if (refused === undefined) return;
      throw new TransientFault(
        `${left.length} of ${entries.length} shards took no heartbeat: ${refused.ErrorCode}: ${refused.ErrorMessage}`,
        { hint: 'they are full; the next heartbeat comes' },
      );
    });
  }
}
