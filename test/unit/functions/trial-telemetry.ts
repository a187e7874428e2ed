import type { InvocationContext } from '../../../functions/invocation-context.ts';
import type { Telemetry } from '../../../functions/telemetry.ts';

/** Remembers what a function told of itself. */
export class TrialTelemetry implements Telemetry {
  readonly metrics = new Map<string, number>();
  readonly lines: { message: string; details: object; error?: unknown }[] = [];
  published = 0;
  requestId: string | undefined;

  follow({ awsRequestId }: InvocationContext): void {
    this.requestId = awsRequestId;
  }

  info(message: string, details: object): void {
    this.lines.push({ message, details });
  }

  failure(message: string, error: unknown, details: object): void {
    this.lines.push({ message, details, error });
  }

  count(metric: string, value: number): void {
    this.metrics.set(metric, (this.metrics.get(metric) ?? 0) + value);
  }

  milliseconds(metric: string, value: number): void {
    this.metrics.set(metric, value);
  }

  bytes(metric: string, value: number): void {
    this.metrics.set(metric, value);
  }

  publish(): void {
    this.published++;
  }
}
