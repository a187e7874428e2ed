/**
 * Pipelines that know duplicates by one field or another, records for them, and a plain model of which ids a slice keeps.
 */
import { ByteWriter } from '../../core/bytes.ts';
import { parsePlan } from '../../core/definition/parse-plan.ts';
import type { Plan } from '../../core/definition/plan.ts';
import { hashText } from '../../core/hash.ts';
import { DedupeIds } from '../../core/state/dedupe-ids.ts';
import type { SliceImage } from '../../core/state/slice-image.ts';
import type { SmallRecord } from './small-log.ts';

export type IdField = 'id' | 'other';

export interface IdRecord extends SmallRecord {
  readonly other: number;
}

export interface IdPolicy {
  readonly field: IdField;
  readonly withinMs: number;
}

const LATENESS_MS = 5_000;

/** One view that takes every record; null: a pipeline without dedupe. */
export function idPlan(policy: IdPolicy | null): Plan {
  const parsed = parsePlan({
    name: 'small',
    time: { field: 't', lateness: `${LATENESS_MS}ms`, skew: 'none' },
    ...(policy === null ? {} : { dedupe: { id: policy.field, within: `${policy.withinMs}ms` } }),
    views: { all_time: { groupBy: ['key'], aggregates: { records: { count: '*' } } } },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

/** A record at `t` with these ids. */
export function idRecord(id: number, t: number, other = id): IdRecord {
  return { id, other, t, type: 'a', key: 'k', amount: 1 };
}

export class IdModel {
  readonly #countedFromMs = new Map<number, number>();
  #policy: IdPolicy | null;
  #watermarkMs = Number.NEGATIVE_INFINITY;
  duplicates = 0;
  folded = 0;

  constructor(policy: IdPolicy | null) {
    this.#policy = policy;
  }

  change(policy: IdPolicy | null): void {
    const before = this.#policy;
    this.#policy = policy;
    if (before?.field !== policy?.field) this.#countedFromMs.clear();
    else if (before !== null && before.withinMs !== policy?.withinMs) this.#forget(before.withinMs);
  }

  take(record: IdRecord): void {
    if (this.#policy !== null) {
      const { field, withinMs } = this.#policy;
      this.#forget(withinMs);
      const id = record[field];
      const knownMs = this.#countedFromMs.get(id) ?? Number.NEGATIVE_INFINITY;
      if (knownMs > record.t - withinMs) {
        this.duplicates++;
        return;
      }
      this.#countedFromMs.set(id, Math.max(knownMs, record.t, this.#watermarkMs));
    }
    this.folded++;
    this.#watermarkMs = Math.max(this.#watermarkMs, record.t - LATENESS_MS);
  }

  /** Those that are still kept, as `idsOf` has them. */
  kept(): string {
    this.#forget(this.#policy?.withinMs ?? 0);
    const ids = new DedupeIds();
    const hash = new Uint32Array(4);
    for (const [id, countedFromMs] of this.#countedFromMs) {
      hashText(String(id), hash);
      ids.add(hash, countedFromMs);
    }
    return textOf(ids, Number.NEGATIVE_INFINITY);
  }

  #forget(withinMs: number): void {
    for (const [id, countedFromMs] of this.#countedFromMs) {
      if (countedFromMs <= this.#watermarkMs - withinMs) this.#countedFromMs.delete(id);
    }
  }
}

/** The ids that an image keeps, with their times. */
export function idsOf({ dedupeIds, expiredMs }: SliceImage): string {
  return textOf(dedupeIds, expiredMs);
}

function textOf(ids: DedupeIds, expiredMs: number): string {
  const writer = new ByteWriter();
  DedupeIds.encodeCanonical([ids], expiredMs, writer);
  return Buffer.from(writer.peek()).toString('hex');
}
