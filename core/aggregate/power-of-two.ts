/**
 * Powers of two from the bits of a double: `**` and `Math.pow` may differ between engines.
 */

const bits = new DataView(new ArrayBuffer(8));

/** 2^exponent for an exponent of −1022 to 1023. */
export function powerOfTwo(exponent: number): number {
  bits.setUint32(0, (exponent + 1023) << 20);
  return bits.getFloat64(0);
}
