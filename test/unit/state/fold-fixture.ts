/**
 * Folding a few records without stores, and looking at what came of them.
 */
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import type { StreamRecord } from '../../../core/ports.ts';
import {
  type ClosedEntry,
  closedEntriesOf,
  mergeClosedEntries,
} from '../../../core/state/closed-entries.ts';
import { decodeGroupKey } from '../../../core/state/group-key.ts';
import type { LedgerRecord } from '../../../core/state/quarantine-ledger.ts';
import { SliceImage } from '../../../core/state/slice-image.ts';
import { SliceState } from '../../../core/state/slice-state.ts';
import type { WindowSource } from '../../../core/state/state-change.ts';
import { ViewTable } from '../../../core/state/view-table.ts';
import type { WindowAssigner } from '../../../core/time/window.ts';
import { SHARD } from '../../world/small-log.ts';

export const ARRIVAL_MS = 1_000_000;

/** Times of these tests are small numbers, so of 1970: `time.earliest` is none unless the file says otherwise. */
export function planOf(file: Record<string, unknown>): Plan {
  const time = file['time'] as Record<string, unknown> | undefined;
  const isTimed = time?.['field'] !== undefined;
  const parsed = parsePlan(isTimed ? { ...file, time: { earliest: 'none', ...time } } : file);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

export function emptyState(plan: Plan, decoder = createJsonDecoder(plan)): SliceState {
  return new SliceState(new SliceImage(plan), decoder, SHARD);
}

/** The `index`-th record of a shard; text and bytes are taken as they are, all else as JSON. */
export function recordAt(index: number, data: unknown): StreamRecord & LedgerRecord {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return {
    shardId: SHARD,
    sequenceNumber: String(1_000n + BigInt(index)),
    subSequence: 0,
    partitionKey: `p${index}`,
    arrivalMs: ARRIVAL_MS,
    data: data instanceof Uint8Array ? data : new TextEncoder().encode(text),
  };
}

export function foldAll(plan: Plan, data: readonly unknown[]): SliceState {
  const state = emptyState(plan);
  for (const [index, each] of data.entries()) state.fold(recordAt(index, each));
  return state;
}

/** By view, then by `key@window`: the results of the view's aggregates, open and closed. The state is committed. */
export function rowsOf(state: SliceState): Record<string, Record<string, unknown[]>> {
  state.commit();
  const { image } = state;
  const views = image.source().views.slice(0, -1);
  return Object.fromEntries(
    views.map(({ view, entries }, index) => [
      view.name,
      Object.fromEntries(
        mergeClosedEntries(view, [
          ...closedEntriesOf(entries as WindowSource[]),
          ...(image.late[index] as ClosedEntry[]),
        ]).map((entry) => {
          const table = new ViewTable(view);
          table.decode(table.insert(0, new Uint8Array()), entry.accumulators);
          const key = decodeGroupKey(entry.key).map(String).join();
          return [`${key}@${entry.windowStartMs}`, table.results(0).map(({ value }) => value)];
        }),
      ),
    ]),
  );
}

/** What a state, or an image, holds of windows that its watermark has passed, by index of the image's views. */
export function closedOf(of: SliceState | SliceImage): ClosedEntry[][] {
  const image = of instanceof SliceImage ? of : of.image;
  const late = of instanceof SliceImage ? image.late : of.lateSinceRuns();
  const { watermarkMs } = of.progress;
  return image.views.map((_, view) => {
    const isClosed = ({ windowStartMs }: WindowSource) =>
      (image.windows[view] as WindowAssigner).endOf(windowStartMs) <= watermarkMs;
    return [
      ...closedEntriesOf(image.kept(view).filter(isClosed)),
      ...(late[view] as ClosedEntry[]),
    ];
  });
}

/** Closed entries of each view in order, partials merged, as text. */
export function mergedText(plan: Plan, closed: readonly (readonly ClosedEntry[])[]): string[] {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  return plan.views.flatMap((view, index) =>
    mergeClosedEntries(view, closed[index] ?? []).map(
      ({ windowStartMs, key, accumulators }) =>
        `${view.name} ${windowStartMs} ${hex(key)} ${hex(accumulators)}`,
    ),
  );
}
