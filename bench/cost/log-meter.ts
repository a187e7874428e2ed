/**
 * What a function writes into its log: standard output is counted instead of shown while work goes on.
 */
import { LOG_LINE_FRAME_BYTES } from './cost-model.ts';

export class LogMeter {
  /** As CloudWatch counts them. */
  byteCount = 0;

  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    const { write } = process.stdout;
    process.stdout.write = ((text: string | Uint8Array) => {
      this.byteCount += Buffer.byteLength(text) + LOG_LINE_FRAME_BYTES;
      return true;
    }) as typeof write;
    try {
      return await work();
    } finally {
      process.stdout.write = write;
    }
  }
}
