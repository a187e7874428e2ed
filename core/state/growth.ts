/**
 * How arrays grow that are added to one by one: small ones to twice their size, large ones by half of it, so that a large state
 * has little room that is not used.
 */

const LARGE = 65_536;

/** The next capacity above one. */
export function grownCapacity(capacity: number): number {
  return capacity < LARGE ? capacity * 2 : capacity + (capacity >>> 1);
}
