/**
 * Which records of a slice were quarantined, and which of them came back: a view of its own beside the plan's, of closed
 * entries only. It is divided, merged and read as results are, so a redrive finds a record however long ago it was put
 * aside, and finds it once.
 *
 *   key: shard, position, view (null: the record as a whole; otherwise the life and name of a view that alone quarantined it, as late)
 *   entry: how often quarantined · whether it counts as quarantined · how often redriven
 */

import { compareBytes } from '../bytes.ts';
import { NO_OPTIONS } from '../definition/kinds/aggregate-descriptor.ts';
import type { Plan, ViewPlan } from '../definition/plan.ts';
import { type Position, sortablePosition } from '../position.ts';
import { decodeGroupKey, encodeGroupKey } from './group-key.ts';
import { firstLife, type ViewLife } from './view-life.ts';
import type { ViewTable } from './view-table.ts';

/** A record as the ledger names it: sequence numbers of two shards are not told apart by themselves. */
export interface LedgerRecord extends Position {
  readonly shardId: string;
}

/** The aggregates of an entry. */
export const LEDGER = { counted: 0, quarantined: 1, redriven: 2 } as const;

const COLUMNS = ['counted', 'put_aside', 'redriven'];

/** No view of a pipeline can have this name. */
export const LEDGER_VIEW: ViewPlan = {
  name: '@quarantine',
  category: null,
  groupBy: [
    { name: 'shard', field: -1 },
    { name: 'record', field: -1 },
    { name: 'view', field: -1 },
  ],
  window: { kind: 'all' },
  late: 'update',
  aggregates: COLUMNS.map((name, column) => {
    return { name, kind: 'count', field: null, options: NO_OPTIONS, column };
  }),
  columns: COLUMNS.map((fieldText) => ({ kind: 'count', fieldText, field: null })),
  hash: '00000000000000000000000000000001',
};

/** It is there since the slice began, under every plan. */
export const LIVING_LEDGER = { view: LEDGER_VIEW, life: firstLife(LEDGER_VIEW, 0) };

/** All views that a slice's state has: the plan's, then the ledger. */
export function storedViews(plan: Plan): readonly ViewPlan[] {
  return [...plan.views, LEDGER_VIEW];
}

/** Names a view in the ledger: its life, so that another name or a view in its place changes nothing; and its name. */
export function ledgerNameOf({ since, ordinal }: ViewLife, name: string): string {
  return `${since}.${ordinal} ${name}`;
}

/**
 * True if what waits is this view's: of its life, whatever it was called; or of its name, where the view that quarantined it is
 * none of those that there are. `names` are the ledger's names of the views that there are.
 */
export function waitsForView(
  waiting: readonly (string | null)[],
  view: number,
  names: readonly string[],
): boolean {
  const own = partsOf(names[view] as string);
  const lives = names.map((name) => partsOf(name).life);
  return waiting.some((each) => {
    if (each === null) return false;
    const { life, name } = partsOf(each);
    return lives.includes(life) ? life === own.life : name === own.name;
  });
}

function partsOf(ledgerName: string): { readonly life: string; readonly name: string } {
  const at = ledgerName.indexOf(' ');
  return { life: ledgerName.slice(0, at), name: ledgerName.slice(at + 1) };
}

/** `ledger` is the table of what was quarantined and redriven since the last commit. */
export function enterQuarantined(
  ledger: ViewTable,
  record: LedgerRecord,
  views: readonly (string | null)[],
  counted: boolean,
): void {
  for (const [index, view] of views.entries()) {
    const slot = slotOf(ledger, record, view);
    ledger.add(slot, LEDGER.quarantined, 1);
    if (counted && index === 0) ledger.add(slot, LEDGER.counted, 1);
  }
}

export function enterRedriven(
  ledger: ViewTable,
  record: LedgerRecord,
  views: readonly (string | null)[],
): void {
  for (const view of views) ledger.add(slotOf(ledger, record, view), LEDGER.redriven, 1);
}

/** Bounds of the keys of one record's entries: from inclusive, to exclusive. */
export function ledgerKeyRange(record: LedgerRecord): { from: Uint8Array; to: Uint8Array } {
  const from = keyOf(record, null);
  // Nothing sorts behind a view's name but another record: tags end at 5.
  const to = from.slice();
  to[to.length - 1] = 6;
  return { from, to };
}

/**
 * Keys of the entries that a record can have in the ledger's table: of the record as a whole, of views with these names, and
 * of those that `known`, its other entries, name. One may come twice.
 */
export function ledgerEntryKeys(
  record: LedgerRecord,
  names: readonly string[],
  known: readonly { readonly key: Uint8Array }[],
): readonly Uint8Array[] {
  const named = [null, ...names].map((name) => keyOf(record, name));
  return [...named, ...known.map(({ key }) => key)];
}

function slotOf(ledger: ViewTable, record: LedgerRecord, view: string | null): number {
  const key = keyOf(record, view);
  const slot = ledger.find(0, key);
  return slot < 0 ? ledger.insert(0, key) : slot;
}

function keyOf(record: LedgerRecord, view: string | null): Uint8Array {
  return encodeGroupKey([record.shardId, sortablePosition(record), view]);
}

/** True for a key of the ledger that is one of this record's. */
export function isLedgerKeyOf(record: LedgerRecord, key: Uint8Array): boolean {
  const { from, to } = ledgerKeyRange(record);
  return compareBytes(key, from) >= 0 && compareBytes(key, to) < 0;
}

/** What a key says. */
export function parseLedgerKey(key: Uint8Array): {
  readonly shardId: string;
  /** `sortablePosition` of the record. */
  readonly place: string;
  readonly view: string | null;
} {
  const [shardId, place, view] = decodeGroupKey(key) as [string, string, string | null];
  return { shardId, place, view };
}
