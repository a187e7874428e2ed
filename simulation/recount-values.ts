/**
 * What aggregates say of a list of numbers, exactly: sums and means as whole numbers of the smallest double, rounded once;
 * quantiles by sorting.
 */
import { unreachable } from '../core/assert.ts';
import type { AggregatePlan } from '../core/definition/plan.ts';

/** Every finite double is a whole number of 2^−1074. */
const UNIT_BITS = 1074n;
const DOUBLE_BITS = 53;

/** The result as the query API answers it. */
export function resultOf({ kind, options }: AggregatePlan, added: readonly number[]): unknown {
  switch (kind) {
    case 'count':
      return added.length;
    case 'sum':
      return added.length === 0 ? null : finite(nearestDouble(totalUnits(added), 1n));
    case 'mean':
      return added.length === 0 ? null : nearestDouble(totalUnits(added), BigInt(added.length));
    case 'min':
      return added.length === 0 ? null : added.reduce((a, b) => Math.min(a, b));
    case 'max':
      return added.length === 0 ? null : added.reduce((a, b) => Math.max(a, b));
    case 'quantile':
      return quantilesOf(options.at, added);
    default:
      return unreachable(kind);
  }
}

function quantilesOf(ranks: readonly number[], added: readonly number[]): Record<string, unknown> {
  const sorted = [...added].sort((a, b) => a - b);
  return Object.fromEntries(
    ranks.map((rank) => [
      String(rank),
      sorted.length === 0 ? null : sorted[Math.floor(rank * (sorted.length - 1))],
    ]),
  );
}

function totalUnits(values: readonly number[]): bigint {
  return values.reduce((sum, value) => sum + unitsOf(value), 0n);
}

function unitsOf(value: number): bigint {
  let whole = value;
  let doublings = 0n;
  while (!Number.isInteger(whole)) {
    whole *= 2;
    doublings++;
  }
  return BigInt(whole) << (UNIT_BITS - doublings);
}

/** The double nearest to `units / divisor` units, ties to even; infinite beyond the largest. */
function nearestDouble(units: bigint, divisor: bigint): number {
  const magnitude = units < 0n ? -units : units;
  let shift = Math.max(0, bitLength(magnitude) - bitLength(divisor) - DOUBLE_BITS - 1);
  while (magnitude / (divisor << BigInt(shift)) >= 1n << BigInt(DOUBLE_BITS)) shift++;
  const unit = divisor << BigInt(shift);
  const rest = magnitude % unit;
  let quotient = magnitude / unit;
  if (2n * rest > unit || (2n * rest === unit && quotient % 2n === 1n)) quotient++;
  let double = Number(quotient) * Number.MIN_VALUE;
  // Doubling is exact, and no power of two that is needed may be a double itself.
  for (let doubling = 0; doubling < shift; doubling++) double *= 2;
  return units < 0n ? -double : double;
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : Math.sign(value) * Number.MAX_VALUE;
}

function bitLength(value: bigint): number {
  return value.toString(2).length;
}
