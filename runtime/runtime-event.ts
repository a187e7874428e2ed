/**
 * What the runtime has to tell a person while it serves.
 */

import type { PlanChange } from '../core/task/plan-activation.ts';
import type { FunctionFailure } from './invocation.ts';

export type RuntimeEvent =
  /** At start: records that are in the stream and in no checkpoint. */
  | { readonly kind: 'replaying'; readonly records: number }
  /** They are in a checkpoint now. */
  | { readonly kind: 'replayed'; readonly records: number; readonly ms: number }
  /** At start or at a reload: the pipeline file means something else than before. */
  | ({ readonly kind: 'plan-activated' } & PlanChange)
  /** A slice went back to an older epoch, and what came since was folded again: its newest was damaged, or a plan was taken back. */
  | {
      readonly kind: 'rewound';
      readonly sliceId: string;
      readonly epoch: number;
      /** The one that it is on since. */
      readonly timeline: number;
    }
  /** Stored parts of a slice's open state cannot be read any more: it goes on, and answers say which rows are missing. */
  | { readonly kind: 'parts-lost'; readonly sliceId: string; readonly count: number }
  | {
      readonly kind: 'invocation-failed';
      readonly shardId: string;
      readonly failure: FunctionFailure;
      readonly retryInMs: number;
    }
  /** Told once, however often it repeats. */
  | { readonly kind: 'tick-failed'; readonly shardId: string; readonly failure: FunctionFailure }
  | {
      readonly kind: 'request-failed' | 'trim-failed' | 'heartbeat-failed';
      readonly error: unknown;
    };
