/**
 * Which failures are worth telling: one that repeats is told once, until its like goes well or fails in another way.
 */
import type { FunctionFailure } from './invocation.ts';

export class FailureNews {
  readonly #told = new Map<string, string>();

  /** True the first time; `what` names what failed. */
  isNew(what: string, { name, message }: FunctionFailure): boolean {
    const text = `${name}: ${message}`;
    if (this.#told.get(what) === text) return false;
    this.#told.set(what, text);
    return true;
  }

  /** It went well: should it fail again, that is new. */
  over(what: string): void {
    this.#told.delete(what);
  }
}
