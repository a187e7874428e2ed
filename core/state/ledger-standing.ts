/**
 * What the ledger of the quarantine says of one record: what of it waits for a redrive.
 */
import type { ClosedEntry } from './closed-entries.ts';
import { mergeClosedEntries } from './closed-entries.ts';
import { LEDGER, LEDGER_VIEW, parseLedgerKey } from './quarantine-ledger.ts';
import { ViewTable } from './view-table.ts';

export interface LedgerStanding {
  /** What was quarantined and did not come back: null for the record as a whole, otherwise names of views. */
  readonly waiting: readonly (string | null)[];
  /** The record counts as quarantined: no view has folded it. */
  readonly counted: boolean;
  /** All or some of it was redriven. */
  readonly cameBack: boolean;
}

/** `entries` are all of the ledger that have the record's keys, those since the last commit too. */
export function ledgerStanding(entries: readonly ClosedEntry[]): LedgerStanding {
  const waiting: (string | null)[] = [];
  let counted = false;
  let cameBack = false;
  const table = new ViewTable(LEDGER_VIEW);
  const slot = table.insert(0, new Uint8Array());
  const valueIn = (aggregate: number) => table.result(slot, aggregate).value as number;
  for (const { key, accumulators } of mergeClosedEntries(LEDGER_VIEW, entries)) {
    table.decode(slot, accumulators);
    if (valueIn(LEDGER.redriven) > 0) cameBack = true;
    if (valueIn(LEDGER.quarantined) <= valueIn(LEDGER.redriven)) continue;
    waiting.push(parseLedgerKey(key).view);
    if (valueIn(LEDGER.counted) > 0) counted = true;
  }
  return { waiting, counted, cameBack };
}
