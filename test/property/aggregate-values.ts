/**
 * Numbers that aggregates find hard, and lists of them.
 */
import fc from 'fast-check';

const SAFE = Number.MAX_SAFE_INTEGER;

const smallInteger = fc.integer({ min: -1000, max: 1000 });
const largeInteger = fc.maxSafeInteger();
const nearSafe = fc.integer({ min: 0, max: 8 }).map((below) => SAFE - below);
const hugeInteger = fc
  .tuple(fc.integer({ min: -(2 ** 20), max: 2 ** 20 }), fc.integer({ min: 34, max: 70 }))
  .map(([mantissa, exponent]) => mantissa * 2 ** exponent);
const cents = smallInteger.map((integer) => integer / 100);
const subnormal = fc.integer({ min: -50, max: 50 }).map((units) => units * Number.MIN_VALUE);
const power = fc.integer({ min: -1074, max: 1023 }).map((exponent) => 2 ** exponent);
const extreme = fc.constantFrom(
  1e308,
  -1e308,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  2 ** 53,
  -(2 ** 53),
  2 ** -1022,
  Number.MIN_VALUE,
  0,
  -0,
);
const anyDouble = fc.double({ noNaN: true, noDefaultInfinity: true });

/** Finite doubles of every kind. */
const anyValue: fc.Arbitrary<number> = fc.oneof(
  smallInteger,
  largeInteger,
  nearSafe,
  hugeInteger,
  cents,
  subnormal,
  power,
  extreme,
  anyDouble,
);

/** Enough values close together for a sketch to count them in a window. */
const cluster = fc.array(fc.double({ min: 1, max: 4, noNaN: true }), {
  minLength: 40,
  maxLength: 150,
});

/** Lists of one kind of values or of all kinds; some cancel themselves in whole or in part. */
export const anyValues: fc.Arbitrary<number[]> = fc
  .tuple(
    fc.oneof(
      ...[smallInteger, nearSafe, hugeInteger, cents, subnormal, power, extreme, anyValue].map(
        (value) => fc.array(value, { maxLength: 30 }),
      ),
      cluster,
    ),
    fc.nat(30),
    fc.array(anyValue, { maxLength: 3 }),
  )
  .map(([values, cancelled, rest]) => [
    ...values,
    ...values.slice(0, cancelled).map((value) => -value),
    ...rest,
  ]);

/** The values in an order that the choices decide. */
export function permuted(values: readonly number[], choices: () => number): number[] {
  const rest = [...values];
  const result: number[] = [];
  while (rest.length > 0) result.push(...rest.splice(choices() % rest.length, 1));
  return result;
}

/** Endless choices from a short list of them, so that a failure shrinks. */
export function cycled(choices: readonly number[]): () => number {
  let index = 0;
  return () => choices[index++ % choices.length] as number;
}

export const anyChoices: fc.Arbitrary<number[]> = fc.array(fc.nat(1000), {
  minLength: 1,
  maxLength: 40,
});
