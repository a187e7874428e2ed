/**
 * Between exact totals and doubles. A total is a whole number of units of 2^−1074, the smallest
 * double: every finite double is a whole number of them.
 */
import { powerOfTwo } from './power-of-two.ts';

const UNIT = Number.MIN_VALUE;
const SAFE_UNITS = 2n ** 53n;
/** With more bits dropped the quotient is beyond 2^1024, whatever is left of it. */
const DROPPED_BITS_FINITE_MAX = 2044;
const bits = new DataView(new ArrayBuffer(8));

/** A finite double in units. */
export function unitsOf(value: number): bigint {
  bits.setFloat64(0, Math.abs(value));
  const exponent = bits.getUint32(0) >>> 20;
  const fraction = bits.getBigUint64(0) & 0xf_ffff_ffff_ffffn;
  const units = exponent === 0 ? fraction : (fraction | (1n << 52n)) << BigInt(exponent - 1);
  return value < 0 ? -units : units;
}

/**
 * The double nearest to `units / divisor` (ties to even); ±Infinity where that is beyond the
 * largest.
 */
export function nearestDouble(units: bigint, divisor: bigint): number {
  const magnitude = units < 0n ? -units : units;
  const rounded = nearestToMagnitude(magnitude, divisor);
  return units < 0n ? -rounded : rounded;
}

function nearestToMagnitude(units: bigint, divisor: bigint): number {
  // Drops bits that cannot matter: the quotient keeps 60 at least, or all that it has.
  const dropped = Math.max(0, (hexDigits(units) - hexDigits(divisor)) * 4 - 64);
  const scaled = divisor << BigInt(dropped);
  const quotient = units / scaled;
  const rest = units - quotient * scaled;
  if (quotient < SAFE_UNITS) {
    // Here nothing was dropped, and the nearest whole unit is the nearest double, subnormal or not.
    const twice = 2n * rest;
    const up = twice > scaled || (twice === scaled && (quotient & 1n) === 1n);
    return Number(up ? quotient + 1n : quotient) * UNIT;
  }
  if (dropped > DROPPED_BITS_FINITE_MAX) return Infinity;
  // A last bit that says whether anything follows lets the conversion round once, and rightly.
  const sticky = Number((quotient << 1n) | (rest === 0n ? 0n : 1n)) * UNIT;
  // In two steps, as the power itself may be no double.
  const half = (dropped - 1) >> 1;
  return sticky * powerOfTwo(half) * powerOfTwo(dropped - 1 - half);
}

function hexDigits(value: bigint): number {
  return value.toString(16).length;
}
