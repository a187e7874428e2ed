/**
 * Exact arithmetic on doubles by BigInt, made apart from what it checks: a double is a whole number
 * of 2^−1074.
 */

export const UNITS_OF_ONE = 2n ** 1074n;

export function exactUnits(value: number): bigint {
  if (Number.isInteger(value)) return BigInt(value) * UNITS_OF_ONE;
  // A fraction ends within 1,074 doublings, all of them exact; large steps first keep it short.
  let scaled = value;
  let doublings = 0;
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    doublings++;
  }
  return BigInt(scaled) * 2n ** BigInt(1074 - doublings);
}

export function exactTotal(values: Iterable<number>): bigint {
  let total = 0n;
  for (const value of values) total += exactUnits(value);
  return total;
}

/**
 * Whether no double is nearer to `total / divisor` units than `value`, and a tie went to the even
 * one.
 */
export function isNearest(value: number, total: bigint, divisor = 1n): boolean {
  const distance = distanceTo(value, total, divisor);
  for (const neighbour of [nextUp(value), -nextUp(-value)]) {
    if (!Number.isFinite(neighbour)) continue;
    const other = distanceTo(neighbour, total, divisor);
    if (other < distance || (other === distance && isOdd(value))) return false;
  }
  return true;
}

function distanceTo(value: number, total: bigint, divisor: bigint): bigint {
  const difference = exactUnits(value) * divisor - total;
  return difference < 0n ? -difference : difference;
}

function bitsOf(value: number): bigint {
  return new BigInt64Array(Float64Array.of(value).buffer)[0] as bigint;
}

function isOdd(value: number): boolean {
  return (bitsOf(value) & 1n) === 1n;
}

function nextUp(value: number): number {
  if (value === 0) return Number.MIN_VALUE;
  const bits = bitsOf(value) + (value > 0 ? 1n : -1n);
  return new Float64Array(BigInt64Array.of(bits).buffer)[0] as number;
}
