/**
 * What a simulation came to, as plain data.
 */
import type { Finding } from './findings.ts';
import type { SliceSizes } from './memory-run.ts';

export interface SimulationReport {
  readonly pipeline: string;
  readonly planHash: string;
  /** That were given; retries and heartbeats are no part of them. */
  readonly records: number;
  /** Copies that producers sent besides, with the first seed. */
  readonly retries: number;
  /** That were put into shards besides, with the first seed: `sizes` counts all three. */
  readonly heartbeats: number;
  readonly shards: number;
  readonly seeds: readonly number[];
  /** What costs most first; empty if nothing was found. */
  readonly findings: readonly Finding[];
  /** Of the first seed: what to expect of each slice's checkpoints. */
  readonly sizes: readonly SliceSizes[];
  /** The same for a person. */
  readonly text: string;
}
