/**
 * An environment for the tests of the pool: does what its payload says.
 */
import { threadId } from 'node:worker_threads';
import { TransientFault } from '../../../core/faults.ts';
import { serveInvocations } from '../../../runtime/invocation.ts';

export type TrialPayload =
  | { readonly kind: 'greet'; readonly delayMs: number }
  | { readonly kind: 'throw' }
  | { readonly kind: 'time-left' }
  | { readonly kind: 'exit' }
  /** Sets the first of `begun` to 1, and never ends. */
  | { readonly kind: 'spin'; readonly begun: Int32Array }
  | { readonly kind: 'eat' }
  /** Works until nobody waits for the answer. */
  | { readonly kind: 'until-cancelled' };

export interface Greeting {
  readonly threadId: number;
  /** Which invocation of this environment it was, from 1. */
  readonly count: number;
}

let count = 0;

serveInvocations(async (payload, { timeLeftMs, signal }) => {
  const trial = payload as TrialPayload;
  count++;
  switch (trial.kind) {
    case 'greet':
      await new Promise((resolve) => setTimeout(resolve, trial.delayMs));
      return { threadId, count } satisfies Greeting;
    case 'throw':
      throw new TransientFault('the disk is full', { hint: 'free some space' });
    case 'time-left':
      return timeLeftMs();
    case 'exit':
      return process.exit(3);
    case 'spin':
      Atomics.store(trial.begun, 0, 1);
      for (;;);
    case 'until-cancelled':
      while (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, 5));
      return 'cancelled';
    case 'eat': {
      const eaten: object[] = [];
      for (;;) eaten.push(Array.from({ length: 1_000 }, (_, index) => ({ index })));
    }
  }
});
