/**
 * The bins of a quantile sketch (DDSketch): 35 to an octave, each 2^(1/35) times as wide as the one
 * below. The middle of a bin differs from any value in it by less than 1 % of that value (0.99 %);
 * in subnormals, which have few digits, by one unit of the last place more.
 *
 * `Math.log` may differ between engines and then would put a value into another bin. So a table
 * says where bins begin, made with nothing but the exactly specified + − × ÷, and a value's bin
 * follows from its bits.
 */
import { powerOfTwo } from './power-of-two.ts';

const BINS_PER_OCTAVE = 35;
/**
 * 2^(1/35). The last digits do not matter, but are part of the format: they decide which bin a
 * boundary value is in.
 */
const BIN_RATIO = 1.0200016094211992;
const FRACTION_BITS = 52;
const EXPONENT_BIAS = 1023;
const SUBNORMAL_SCALE = 2 ** FRACTION_BITS;
/** Less than the narrowest bin of an octave, so that a cell holds one boundary at most. */
const CELLS_PER_OCTAVE = 256;

/** Bins of the smallest and the largest double. */
export const BIN_MIN = (1 - EXPONENT_BIAS - FRACTION_BITS) * BINS_PER_OCTAVE;
export const BIN_MAX = (EXPONENT_BIAS + 1) * BINS_PER_OCTAVE - 1;

/** Where the bins of [1, 2) begin; the last is 2. */
const BEGINNINGS = beginnings();
/** The same as fraction bits of a double. */
const FRACTIONS = BEGINNINGS.map((beginning) => (beginning - 1) * 2 ** FRACTION_BITS);
/** The bin that the beginning of each cell of [1, 2) lies in. */
const CELL_BINS = cellBins();

const bits = new DataView(new ArrayBuffer(8));

/** The bin of a positive finite double. Never falls as the value rises. */
export function binOf(value: number): number {
  bits.setFloat64(0, value);
  const high = bits.getUint32(0);
  const exponent = high >>> 20;
  if (exponent === 0) return binOf(value * SUBNORMAL_SCALE) - FRACTION_BITS * BINS_PER_OCTAVE;
  const fraction = (high & 0xf_ffff) * 0x1_0000_0000 + bits.getUint32(4);
  const bin = CELL_BINS[(high >>> 12) & 0xff] as number;
  const octave = (exponent - EXPONENT_BIAS) * BINS_PER_OCTAVE;
  return fraction >= (FRACTIONS[bin + 1] as number) ? octave + bin + 1 : octave + bin;
}

/** The value that stands for a bin: as far, relatively, from its lower end as from its upper. */
export function middleOf(bin: number): number {
  const octave = Math.floor(bin / BINS_PER_OCTAVE);
  const place = bin - octave * BINS_PER_OCTAVE;
  const low = BEGINNINGS[place] as number;
  const high = BEGINNINGS[place + 1] as number;
  const middle = (2 * low * high) / (low + high);
  // Below the normal numbers in two steps, of which only the last rounds.
  if (octave < 1 - EXPONENT_BIAS) {
    return (middle * powerOfTwo(octave + FRACTION_BITS)) / SUBNORMAL_SCALE;
  }
  return middle * powerOfTwo(octave);
}

function beginnings(): Float64Array {
  const table = new Float64Array(BINS_PER_OCTAVE + 1);
  let beginning = 1;
  for (let bin = 0; bin < BINS_PER_OCTAVE; bin++) {
    table[bin] = beginning;
    beginning *= BIN_RATIO;
  }
  table[BINS_PER_OCTAVE] = 2;
  return table;
}

function cellBins(): Uint8Array {
  const table = new Uint8Array(CELLS_PER_OCTAVE);
  let bin = 0;
  for (let cell = 0; cell < CELLS_PER_OCTAVE; cell++) {
    const beginning = 1 + cell / CELLS_PER_OCTAVE;
    while (beginning >= (BEGINNINGS[bin + 1] as number)) bin++;
    table[cell] = bin;
  }
  return table;
}
