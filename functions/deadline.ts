/**
 * When the invocation that runs now is cut off: whoever calls AWS for it asks here how long it may take.
 */
import type { InvocationContext } from './invocation-context.ts';

export class Deadline {
  #timeLeftMs: () => number = () => Number.POSITIVE_INFINITY;

  /** An invocation begins. */
  follow(context: InvocationContext): void {
    this.#timeLeftMs = () => context.getRemainingTimeInMillis();
  }

  readonly timeLeftMs = (): number => this.#timeLeftMs();
}
