/**
 * How long the stream keeps records. What a proof of completeness stands on is asked of Kinesis, since anybody may lower it
 * there; what the pipeline was deployed with bounds it from above, as records that expired before it was raised are gone.
 */
import { DescribeStreamSummaryCommand, type KinesisClient } from '@aws-sdk/client-kinesis';
import { mayHavePassed } from '../../../core/elapsed.ts';
import type { Clock } from '../../../core/ports.ts';
import type { AwsCalls } from '../aws-calls.ts';

export interface Retention {
  hours(): Promise<number>;
}

export interface StreamRetentionOptions {
  readonly client: KinesisClient;
  readonly calls: AwsCalls;
  readonly streamArn: string;
  /** As deployed. */
  readonly hoursMax: number;
  readonly clock: Clock;
}

const KNOWN_MS = 10 * 60_000;

export class StreamRetention implements Retention {
  readonly #options: StreamRetentionOptions;
  #known: { readonly hours: number; readonly atMs: number } | null = null;

  constructor(options: StreamRetentionOptions) {
    this.#options = options;
  }

  async hours(): Promise<number> {
    const { client, calls, streamArn, hoursMax, clock } = this.#options;
    const nowMs = clock.nowMs();
    if (this.#known !== null && !mayHavePassed(this.#known.atMs, KNOWN_MS, nowMs)) {
      return this.#known.hours;
    }
    const command = new DescribeStreamSummaryCommand({ StreamARN: streamArn });
    const answer = await calls.send(`describe ${streamArn}`, (abortSignal) =>
      client.send(command, { abortSignal }),
    );
    const hours = Math.min(hoursMax, answer.StreamDescriptionSummary?.RetentionPeriodHours ?? 24);
    this.#known = { hours, atMs: nowMs };
    return hours;
  }
}
