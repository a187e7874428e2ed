/**
 * The ledger's entries that no run holds yet, by record. It is made when it is first asked for, and follows the list that it
 * is made from, so that commits cost nothing for it.
 */
import { sortablePosition } from '../position.ts';
import { type LedgerRecord, parseLedgerKey } from './quarantine-ledger.ts';

interface LedgerEntry {
  readonly key: Uint8Array;
}

export class RecentLedger<Entry extends LedgerEntry = LedgerEntry> {
  /** Grows at its end, or is emptied. */
  readonly #entries: readonly Entry[];
  readonly #byRecord = new Map<string, Entry[]>();
  #indexedCount = 0;

  constructor(entries: readonly Entry[]) {
    this.#entries = entries;
  }

  entriesOf(record: LedgerRecord): readonly Entry[] {
    for (; this.#indexedCount < this.#entries.length; this.#indexedCount++) {
      const entry = this.#entries[this.#indexedCount] as Entry;
      const { shardId, place } = parseLedgerKey(entry.key);
      const name = nameOf(shardId, place);
      const known = this.#byRecord.get(name);
      if (known === undefined) this.#byRecord.set(name, [entry]);
      else known.push(entry);
    }
    return this.#byRecord.get(nameOf(record.shardId, sortablePosition(record))) ?? [];
  }

  /** The list was emptied. */
  clear(): void {
    this.#byRecord.clear();
    this.#indexedCount = 0;
  }
}

function nameOf(shardId: string, place: string): string {
  return `${shardId}/${place}`;
}
