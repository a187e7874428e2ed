import { DDSketch } from '@datadog/sketches-js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RANKS, resultOf } from '../unit/aggregate/slots.ts';

type Random = () => number;

const DISTRIBUTIONS: Record<string, (random: Random) => number> = {
  uniform: (random) => random() * 1000,
  'uniform around zero': (random) => (random() - 0.5) * 2000,
  normal: (random) => 50 + 20 * normal(random),
  lognormal: (random) => Math.exp(3 + 2 * normal(random)),
  exponential: (random) => -Math.log(1 - random()) * 1e-4,
  Pareto: (random) => (1 - random()) ** (-1 / 1.1),
  'small integers': (random) => Math.floor(random() * 60) - 20,
  'delays in minutes': (random) => Math.round(Math.exp(2.5 * normal(random))) - 15,
  'two far clusters': (random) => (random() < 0.5 ? 1e-6 : 1e9) * (1 + random()),
  'mostly zeros': (random) => (random() < 0.7 ? 0 : normal(random)),
  constant: () => 17,
};

/** 58 octaves are kept: below that, values would collapse. */
const value = fc
  .tuple(
    fc.constantFrom(-1, 0, 1),
    fc.double({ min: 1, max: 2, noNaN: true }),
    fc.integer({ min: -28, max: 28 }),
  )
  .map(([sign, mantissa, exponent]) => sign * mantissa * 2 ** exponent);

describe('a quantile', () => {
  it.each(Object.keys(DISTRIBUTIONS))('of %s values is within 1 %% of the exact one', (name) => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1 }), (count, seed) => {
        const random = seeded(seed);
        const next = DISTRIBUTIONS[name] as (random: Random) => number;
        expectAccurate(Array.from({ length: count }, () => next(random)));
      }),
      { numRuns: 20 },
    );
  });

  it('of any values within 58 octaves is within 1 % of the exact one', () => {
    fc.assert(fc.property(fc.array(value, { minLength: 1, maxLength: 60 }), expectAccurate), {
      numRuns: 1000,
    });
  });
});

/** Ours and the reference's, by the same definition of rank. */
function expectAccurate(values: number[]): void {
  const quantiles = resultOf('quantile', values).value as Record<string, number>;
  const reference = new DDSketch({ relativeAccuracy: 0.01 });
  for (const one of values) reference.accept(one);
  const sorted = values.toSorted((a, b) => a - b);
  for (const rank of RANKS) {
    const exact = sorted[Math.floor(rank * (sorted.length - 1))] as number;
    expect(errorOf(quantiles[String(rank)] as number, exact)).toBeLessThanOrEqual(0.01);
    // The reference's own rounding is allowed for.
    expect(errorOf(reference.getValueAtQuantile(rank), exact)).toBeLessThanOrEqual(0.01 + 1e-9);
  }
}

function errorOf(estimate: number, exact: number): number {
  return estimate === exact ? 0 : Math.abs(estimate - exact) / Math.abs(exact);
}

function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Uniform numbers in [0, 1) from a 32-bit xorshift. */
function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
