/**
 * What a slice's runs say of one record's quarantine. A run that cannot be read holds nothing up: it is named, and what to
 * make of that is the caller's matter.
 */
import { CorruptStateFault } from '../faults.ts';
import type { ClosedEntry } from '../state/closed-entries.ts';
import { type LedgerRecord, LIVING_LEDGER, ledgerKeyRange } from '../state/quarantine-ledger.ts';
import type { RunReference } from './manifest.ts';
import type { RunReader } from './run.ts';

export interface StoredLedger {
  readonly entries: readonly ClosedEntry[];
  readonly damaged: readonly RunReference[];
}

export async function ledgerInRuns(
  record: LedgerRecord,
  runs: readonly RunReference[],
  readerOf: (run: RunReference) => RunReader,
): Promise<StoredLedger> {
  const { from, to } = ledgerKeyRange(record);
  const entries: ClosedEntry[] = [];
  const damaged: RunReference[] = [];
  for (const run of runs) {
    try {
      entries.push(...(await readerOf(run).entries(LIVING_LEDGER, from, to)));
    } catch (fault) {
      if (!(fault instanceof CorruptStateFault)) throw fault;
      damaged.push(run);
    }
  }
  return { entries, damaged };
}
