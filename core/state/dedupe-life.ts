/**
 * By what a slice knows duplicates: the field of the id, for how much event time, and which ids are none of these. Ids live as
 * long as the field stays the same. Another `within` changes nothing that is stored: what has expired until then stays
 * forgotten by a bound.
 */
import { assert } from '../assert.ts';
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { formatFieldPath } from '../definition/field-path.ts';
import type { Plan } from '../definition/plan.ts';
import { CorruptStateFault } from '../faults.ts';

/** By which field ids are known, and for how much event time. */
export interface DedupePolicy {
  readonly fieldText: string;
  readonly withinMs: number;
}

export interface DedupeLife extends DedupePolicy {
  /** Ids of epochs up to it are none of these: they were of another field, or none were kept. */
  readonly after: number;
  /** Ids counted from it or before had expired when another `within` began to hold: a longer one does not bring them back. */
  readonly forgottenMs: number;
}

/** By what a plan keeps ids; null where it does not. */
export function dedupePolicyOf({ dedupe }: Plan): DedupePolicy | null {
  if (dedupe === null) return null;
  return { fieldText: formatFieldPath(dedupe.path), withinMs: dedupe.withinMs };
}

/** Of a slice that has folded nothing. */
export function firstDedupe(plan: Plan): DedupeLife | null {
  const policy = dedupePolicyOf(plan);
  return policy === null ? null : { ...policy, after: 0, forgottenMs: Number.NEGATIVE_INFINITY };
}

/** What the plan makes of it from the epoch after `after` on, which the watermark stands before. */
export function nextDedupe(
  before: DedupeLife | null,
  plan: Plan,
  watermarkMs: number,
  after: number,
): DedupeLife | null {
  const policy = dedupePolicyOf(plan);
  if (policy === null) return null;
  if (before?.fieldText !== policy.fieldText) {
    return { ...policy, after, forgottenMs: Number.NEGATIVE_INFINITY };
  }
  return { ...policy, after: before.after, forgottenMs: forgottenBy(before, policy, watermarkMs) };
}

/** What a stored epoch says must follow from what the epoch before it said, which left the watermark at `watermarkMs`. */
export function checkFollows(
  before: DedupeLife | null,
  stored: DedupeLife | null,
  watermarkMs: number,
  epoch: number,
): void {
  if (stored === null) return;
  if (before !== null && hasSameIds(stored, before)) {
    const isForgotten = stored.forgottenMs >= forgottenBy(before, stored, watermarkMs);
    assert(isForgotten, 'ids-that-expired-stay-forgotten');
  } else if (stored.after !== epoch - 1) {
    throw new CorruptStateFault(
      `epoch ${epoch} goes on with dedupe ids since epoch ${stored.after}, which is not what was read before it`,
    );
  }
}

/** What is forgotten once another policy by the same field holds. */
function forgottenBy(before: DedupeLife, { withinMs }: DedupePolicy, watermarkMs: number): number {
  return withinMs === before.withinMs ? before.forgottenMs : expiredBy(before, watermarkMs);
}

/** Ids that are counted from it or before are not known any more. */
export function expiredBy(life: DedupeLife | null, watermarkMs: number): number {
  if (life === null) return Number.POSITIVE_INFINITY;
  return Math.max(life.forgottenMs, watermarkMs - life.withinMs);
}

/** True if ids of the one are ids of the other. */
export function hasSameIds(a: DedupeLife | null, b: DedupeLife | null): boolean {
  return a?.fieldText === b?.fieldText && a?.after === b?.after;
}

export function encodeDedupeLife(life: DedupeLife | null, writer: ByteWriter): void {
  writer.string(life?.fieldText ?? '');
  if (life === null) return;
  writer.varint(life.withinMs);
  writer.varint(life.after);
  writer.f64(life.forgottenMs);
}

export function decodeDedupeLife(reader: ByteReader): DedupeLife | null {
  const fieldText = reader.string();
  if (fieldText === '') return null;
  return {
    fieldText,
    withinMs: reader.varint(),
    after: reader.varint(),
    forgottenMs: reader.f64(),
  };
}
