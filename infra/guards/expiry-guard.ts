/**
 * Nothing that a HEAD reaches may expire: current objects under the prefix, and items, are removed by the pipeline alone.
 */
import type { Refusal } from './refusal.ts';

/** Of `LifecycleConfiguration`, as rendered. */
export interface LifecycleRule {
  readonly Id?: unknown;
  readonly Status?: unknown;
  readonly Prefix?: unknown;
  readonly TagFilters?: readonly unknown[];
  readonly ExpirationInDays?: unknown;
  readonly ExpirationDate?: unknown;
  readonly Transition?: LifecycleTransition;
  readonly Transitions?: readonly LifecycleTransition[];
}

interface LifecycleTransition {
  readonly StorageClass?: unknown;
}

export interface ExpiryFacts {
  /** Of a bucket of this app. */
  readonly rules: readonly LifecycleRule[];
  readonly keyPrefix: string;
  /** Of a table of this app. */
  readonly timeToLive: { readonly Enabled?: unknown } | undefined;
}

/** From there an object must be restored before it can be read. */
const ARCHIVES: readonly unknown[] = ['GLACIER', 'DEEP_ARCHIVE'];

export function guardExpiry({ rules, keyPrefix, timeToLive }: ExpiryFacts): Refusal[] {
  const refusals = rules
    .filter((rule) => takesAway(rule) && mayCover(rule, keyPrefix))
    .map((rule) => ({
      found: `a lifecycle rule of the bucket expires or archives current objects under '${keyPrefix}': ${JSON.stringify(rule)}`,
      expected: 'none: only the pipeline knows what a HEAD still reaches, and removes the rest',
      todo: 'take the rule away, give it a prefix of its own, or let it expire noncurrent versions only',
    }));
  if (timeToLive === undefined || timeToLive.Enabled === false) return refusals;
  return [
    ...refusals,
    {
      found: `the table has a time to live: ${JSON.stringify(timeToLive)}`,
      expected: 'none: nothing that a HEAD reaches may expire',
      todo: 'take timeToLiveAttribute or the override away; the pipeline itself removes what nothing reaches',
    },
  ];
}

function takesAway(rule: LifecycleRule): boolean {
  if (rule.Status === 'Disabled') return false;
  const { Transition: one, Transitions: more = [] } = rule;
  return (
    rule.ExpirationInDays !== undefined ||
    rule.ExpirationDate !== undefined ||
    [...more, ...(one === undefined ? [] : [one])].some((to) => ARCHIVES.includes(to.StorageClass))
  );
}

/** Objects of the pipeline have no tags. A prefix that is known only in a deploy may be any. */
function mayCover({ Prefix: prefix = '', TagFilters: tags = [] }: LifecycleRule, keys: string) {
  if (tags.length > 0) return false;
  return typeof prefix !== 'string' || keys.startsWith(prefix) || prefix.startsWith(keys);
}
