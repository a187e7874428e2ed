/**
 * What a reader finds in the stores at one HEAD, in plain values: every group of every view, and what the ledger of the
 * quarantine says. Nothing of the owners' memory is looked at.
 */
import { type BlobStores, readBlob } from '../../core/checkpoint/blobs.ts';
import type { Checkpoint } from '../../core/checkpoint/restore.ts';
import { RunReader } from '../../core/checkpoint/run.ts';
import type { ViewPlan } from '../../core/definition/plan.ts';
import type { Position } from '../../core/position.ts';
import {
  type ClosedEntry,
  closedEntriesOf,
  mergeClosedEntries,
} from '../../core/state/closed-entries.ts';
import { decodeGroupKey } from '../../core/state/group-key.ts';
import { LEDGER, LEDGER_VIEW } from '../../core/state/quarantine-ledger.ts';
import type { WindowSource } from '../../core/state/state-change.ts';
import { ViewTable } from '../../core/state/view-table.ts';
import { nameOfRecord, type Recount } from './small-log.ts';

export interface LedgerRow {
  /** See `nameOfRecord`. */
  readonly record: string;
  readonly view: string | null;
  readonly inQuarantine: number;
  readonly redriven: number;
}

export class WorldReader {
  readonly #sliceId: string;
  readonly #blobs: BlobStores;

  constructor(sliceId: string, blobs: BlobStores) {
    this.#sliceId = sliceId;
    this.#blobs = blobs;
  }

  /** By view, then by group: largest, count and sum, the order of the aggregates' names. */
  async answers(checkpoint: Checkpoint): Promise<Record<string, unknown>> {
    const answers: Record<string, unknown> = {};
    for (const [index, view] of checkpoint.image.plan.views.entries()) {
      const rows = await this.#rows(checkpoint, index, view);
      answers[view.name] = Object.fromEntries(
        rows.map(({ key, windowStartMs, results }) => {
          const group = view.window.kind === 'all' ? `${key[0]}` : `${key[0]}@${windowStartMs}`;
          return [group, results.filter((value) => typeof value === 'number')];
        }),
      );
    }
    return answers;
  }

  async ledger(checkpoint: Checkpoint): Promise<LedgerRow[]> {
    const index = checkpoint.image.views.length - 1;
    const rows = await this.#rows(checkpoint, index, LEDGER_VIEW);
    return rows.map(({ key, results }) => ({
      record: nameOfRecord(positionOfPlace(key[1] as string)),
      view: key[2] as string | null,
      inQuarantine: results[LEDGER.quarantined] as number,
      redriven: results[LEDGER.redriven] as number,
    }));
  }

  /** Open and closing, late since the base, and in runs. */
  async #rows({ image, manifest }: Checkpoint, index: number, view: ViewPlan) {
    const kept = (image.source().views[index]?.entries ?? []) as WindowSource[];
    const entries: ClosedEntry[] = [
      ...closedEntriesOf(kept),
      ...(image.late[index] as ClosedEntry[]),
    ];
    for (const run of manifest.runs) {
      const bytes = await readBlob(this.#blobs, this.#sliceId, run);
      const reader = new RunReader(this.#sliceId, run, async (from, to) =>
        bytes.subarray(from, to),
      );
      entries.push(...(await reader.entries({ view, life: image.lives[index]! })));
    }
    const table = new ViewTable(view);
    const slot = table.insert(0, new Uint8Array());
    return mergeClosedEntries(view, entries).map(({ key, windowStartMs, accumulators }) => {
      table.decode(slot, accumulators);
      const results = table.results(slot).map(({ value }) => value);
      return { key: decodeGroupKey(key), windowStartMs, results };
    });
  }
}

/** The inverse of `sortablePosition`. */
function positionOfPlace(place: string): Position {
  const [sequence, sub] = place.split('.') as [string, string];
  return { sequenceNumber: String(BigInt(sequence)), subSequence: Number(sub) };
}

/** What `answers` must be. */
export function answersOf({ groups }: Recount): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(groups).map(([view, all]) => [
      view,
      Object.fromEntries(
        Object.entries(all).map(([group, amounts]) => [
          group,
          [Math.max(...amounts), amounts.length, exactSum(amounts)],
        ]),
      ),
    ]),
  );
}

/** Rounded once: amounts are multiples of 2^-60 at least, so BigInt holds them exactly. */
function exactSum(amounts: readonly number[]): number {
  const SCALE = 2 ** 60;
  return Number(amounts.reduce((sum, amount) => sum + BigInt(amount * SCALE), 0n)) / SCALE;
}

export function expectEqual(found: unknown, expected: unknown, what: string): void {
  const [a, b] = [canonical(found), canonical(expected)];
  if (a !== b) throw new Error(`${what}\n  found    ${a}\n  expected ${b}`);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
