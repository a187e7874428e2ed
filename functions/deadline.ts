/**
 * When the invocation that runs now is cut off: code that calls AWS asks here how long a call may take.
 */
import type { InvocationContext } from './invocation-context.ts';

export class Deadline {
  #timeLeftMs: () => number = () => Number.POSITIVE_INFINITY;

  /** An invocation begins. */
  follow(context: InvocationContext): void {
    // Asked once: Lambda reckons it by the wall clock, which may be set meanwhile.
    const endMs = performance.now() + context.getRemainingTimeInMillis();
    this.#timeLeftMs = () => endMs - performance.now();
  }

  readonly timeLeftMs = (): number => this.#timeLeftMs();
}
