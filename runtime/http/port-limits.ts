/**
 * How much memory and time the port gives to its clients.
 */
const MIB = 1024 * 1024;
const SECOND_MS = 1_000;

export interface PortLimits {
  readonly connectionsMax: number;
  /** Bodies of all requests together. */
  readonly bodiesBytesMax: number;
  /** Answers that wait to be sent; the one that goes beyond is the last. */
  readonly answersBytesMax: number;
  /** Until a request's head must be there, and then its body. */
  readonly headTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  /** A connection on which nothing moves for so long is closed. */
  readonly idleTimeoutMs: number;
  /** Time that `close` gives to running requests. */
  readonly closeTimeoutMs: number;
}

export const PORT_LIMITS: PortLimits = {
  connectionsMax: 1_024,
  bodiesBytesMax: 256 * MIB,
  answersBytesMax: 256 * MIB,
  headTimeoutMs: 10 * SECOND_MS,
  bodyTimeoutMs: 30 * SECOND_MS,
  idleTimeoutMs: 120 * SECOND_MS,
  closeTimeoutMs: 10 * SECOND_MS,
};
