/**
 * What functions tell of themselves. The pipeline is the only dimension of a metric; which slice it was stands in the log.
 */
import type { InvocationContext } from './invocation-context.ts';

export interface Telemetry {
  /** An invocation begins: what is told from here on bears its request id. */
  follow(context: InvocationContext): void;
  info(message: string, details: object): void;
  /** Says what was thrown, and what a person can do about it. */
  failure(message: string, error: unknown, details: object): void;
  count(metric: string, value: number): void;
  milliseconds(metric: string, value: number): void;
  bytes(metric: string, value: number): void;
  /** Writes what was measured since the last time. */
  publish(): void;
}
