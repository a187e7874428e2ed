/**
 * Whether an answer of the product agrees with a row of the oracle: exactly, but for quantiles, which are within 1 %.
 */
import type { ViewPlan } from '../core/definition/plan.ts';
import type { RecountRow } from './recount-row.ts';

const QUANTILE_ERROR_MAX = 0.01;
/** Values so much smaller than the largest of their sign need not be told apart by a quantile. */
const QUANTILE_OCTAVES = 57;

type Quantiles = Readonly<Record<string, number | null>>;

/** Null if an answer says of a row what it must (a quantile within 1 %), otherwise what differs. */
export function differenceOf(
  view: ViewPlan,
  expected: RecountRow | undefined,
  found: { readonly values: Readonly<Record<string, unknown>> } | undefined,
): string | null {
  if (expected === undefined && found === undefined) return null;
  if (expected === undefined) return `${view.name}: a row that no record makes`;
  const place = `${view.name} ${JSON.stringify(expected.key)}@${expected.windowStartMs}`;
  if (found === undefined) return `${place}: the row is missing`;
  const names = view.aggregates.map(({ name }) => name).sort();
  const foundNames = Object.keys(found.values).sort();
  if (JSON.stringify(names) !== JSON.stringify(foundNames)) {
    return `${place}: values of ${foundNames.join()}, expected ${names.join()}`;
  }
  for (const [index, aggregate] of view.aggregates.entries()) {
    const { name } = aggregate;
    const [is, shouldBe] = [found.values[name], expected.values[name]];
    const agrees =
      aggregate.kind === 'quantile'
        ? quantilesAgree(aggregate.options.at, is, shouldBe, expected.added[index] as number[])
        : is === shouldBe;
    if (!agrees) {
      return `${place}: ${name} is ${JSON.stringify(is)}, expected ${JSON.stringify(shouldBe)}`;
    }
  }
  return null;
}

function quantilesAgree(
  ranks: readonly number[],
  found: unknown,
  expected: unknown,
  added: readonly number[],
): boolean {
  if (typeof found !== 'object' || found === null) return false;
  const [is, shouldBe] = [found as Quantiles, expected as Quantiles];
  if (Object.keys(is).length !== ranks.length) return false;
  return ranks.every((rank) => {
    const [a, b] = [is[String(rank)], shouldBe[String(rank)]];
    if (typeof a !== 'number' || typeof b !== 'number') return a === null && b === null;
    return isNear(a, b, added);
  });
}

function isNear(found: number, expected: number, added: readonly number[]): boolean {
  // Subnormals have few digits: there a bin may be off by one of the smallest doubles more.
  const errorMax = Math.abs(expected) * QUANTILE_ERROR_MAX + Number.MIN_VALUE;
  if (Math.abs(found - expected) <= errorMax) return true;
  const sameSign = added.filter((value) => Math.sign(value) === Math.sign(expected));
  const largest = sameSign.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
  const collapsed = largest * 2 ** -QUANTILE_OCTAVES;
  return Math.abs(expected) < collapsed && Math.abs(found) <= collapsed;
}
