/**
 * What Kinesis says of the stream as a whole: how long it keeps records, and which stream it is. What a proof of completeness stands on is asked of Kinesis, since it can be lowered at any time
 * there; what the pipeline was deployed with bounds it from above, as records that expired before it was raised are gone.
 */
import { DescribeStreamSummaryCommand, type KinesisClient } from '@aws-sdk/client-kinesis';
import { mayHavePassed } from '../../../core/elapsed.ts';
import { hashTextHex } from '../../../core/hash.ts';
import type { Clock } from '../../../core/ports.ts';
import type { AwsCalls } from '../aws-calls.ts';

export interface Retention {
  hours(): Promise<number>;
}

export interface StreamSummaryOptions {
  readonly client: KinesisClient;
  readonly calls: AwsCalls;
  readonly streamArn: string;
  /** As deployed. */
  readonly hoursMax: number;
  readonly clock: Clock;
}

const STREAM_ID_DIGITS = 16;
const KNOWN_MS = 10 * 60_000;

export class StreamSummary implements Retention {
  readonly #options: StreamSummaryOptions;
  #known: { readonly hours: number; readonly streamId: string; readonly atMs: number } | null =
    null;

  constructor(options: StreamSummaryOptions) {
    this.#options = options;
  }

  async hours(): Promise<number> {
    return (await this.#read()).hours;
  }

  /** Of its ARN and the second of its creation: a stream that is deleted and made again under its name has another. */
  async streamId(): Promise<string> {
    return (await this.#read()).streamId;
  }

  async #read(): Promise<{ hours: number; streamId: string }> {
    const { client, calls, streamArn, hoursMax, clock } = this.#options;
    const nowMs = clock.nowMs();
    const known = this.#known;
    if (known !== null && !mayHavePassed(known.atMs, KNOWN_MS, nowMs)) return known;
    const command = new DescribeStreamSummaryCommand({ StreamARN: streamArn });
    const answer = await calls.send(`describe ${streamArn}`, (abortSignal) =>
      client.send(command, { abortSignal }),
    );
    const { RetentionPeriodHours = 24, StreamCreationTimestamp: created } =
      answer.StreamDescriptionSummary ?? {};
    const seconds = Math.floor((created?.getTime() ?? 0) / 1_000);
    const streamId = hashTextHex(`${streamArn} ${seconds}`).slice(0, STREAM_ID_DIGITS);
    this.#known = { hours: Math.min(hoursMax, RetentionPeriodHours), streamId, atMs: nowMs };
    return this.#known;
  }
}
