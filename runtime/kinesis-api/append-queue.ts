/**
 * Group commit: appends that come within one turn of the event loop share a transaction, and so one sync of the disk.
 */
import type {
  AppendedRecord,
  LocalStream,
  StreamEntry,
} from '../../adapters/local/stream/local-stream.ts';

/** Records of one transaction: beyond it the next turn begins a new one, so that answers do not wait too long. */
const GROUP_RECORDS_MAX = 5_000;

interface Waiting {
  readonly entries: readonly StreamEntry[];
  readonly resolve: (records: AppendedRecord[]) => void;
  readonly reject: (error: unknown) => void;
}

export class AppendQueue {
  readonly #stream: LocalStream;
  readonly #onAppended: (entries: readonly StreamEntry[]) => void;
  #waiting: Waiting[] = [];

  /** `onAppended` sees what is on disk. */
  constructor(
    stream: LocalStream,
    onAppended: (entries: readonly StreamEntry[]) => void = () => {},
  ) {
    this.#stream = stream;
    this.#onAppended = onAppended;
  }

  /** Resolves when the records are on disk; rejects if none of them is. */
  append(entries: readonly StreamEntry[]): Promise<AppendedRecord[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entries, resolve, reject });
      if (this.#waiting.length === 1) this.#schedule();
    });
  }

  #schedule(): void {
    setImmediate(() => {
      const group = this.#takeGroup();
      if (this.#waiting.length > 0) this.#schedule();
      this.#appendGroup(group);
    });
  }

  #takeGroup(): Waiting[] {
    let records = 0;
    let count = 0;
    for (const { entries } of this.#waiting) {
      if (count > 0 && records + entries.length > GROUP_RECORDS_MAX) break;
      records += entries.length;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  #appendGroup(group: readonly Waiting[]): void {
    try {
      const all = group.flatMap(({ entries }) => entries);
      const appended = this.#stream.append(all);
      let from = 0;
      for (const { entries, resolve } of group) {
        resolve(appended.slice(from, from + entries.length));
        from += entries.length;
      }
      this.#onAppended(all);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
