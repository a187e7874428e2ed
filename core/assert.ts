/**
 * Assertions for broken invariants: a failure is a bug in Tidemark, never bad input or a lost race.
 */
import { InvariantFault } from './faults.ts';

/** Throws an `InvariantFault` that names the invariant when `condition` is false. */
export function assert(
  condition: boolean,
  invariant: string,
  detail?: () => string,
): asserts condition {
  if (!condition) throw new InvariantFault(invariant, detail?.());
}

/** Ends a switch over a closed union: adding a member without handling it does not compile. */
export function unreachable(value: never): never {
  throw new InvariantFault('switch-is-exhaustive', `unexpected value ${JSON.stringify(value)}`);
}
