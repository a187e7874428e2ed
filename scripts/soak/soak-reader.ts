/**
 * Reads while records flow and processes die: an answer may be old, but it is a whole state that the log had, holds what
 * it was asked to wait for, and never goes back.
 */
import { callQueryApi } from '../../cli/query-client.ts';
import type { SoakLedger } from './soak-ledger.ts';
import type { SoakRecords } from './soak-records.ts';

export interface Row {
  readonly key: Readonly<Record<string, string>>;
  readonly window: { readonly start: string } | null;
  readonly closed: boolean;
  readonly values: Readonly<Record<string, number>>;
}

export interface Answer {
  readonly watermark: string | null;
  /** Absent: nothing was waited for. */
  readonly reached?: boolean;
  readonly rows: readonly Row[];
  readonly next: string | null;
}

export interface SoakStatus {
  readonly records: Readonly<Record<string, number>>;
  readonly watermark: string | null;
  readonly slices: readonly {
    readonly id: string;
    readonly epoch: number;
    readonly revision: number;
    readonly cursor: string;
    readonly delivered: string;
  }[];
}

export interface SoakReaderOptions {
  readonly url: () => string;
  readonly ledger: SoakLedger;
  readonly records: SoakRecords;
  /** Told what is wrong. */
  readonly report: (wrong: string) => void;
}

const PAUSE_MS = 100;

export class SoakReader {
  readonly #options: SoakReaderOptions;
  readonly #counts = new Map<string, number>();
  readonly #progress = new Map<string, bigint>();
  #stopped = false;
  answers = 0;
  /** Requests without an answer: the process was dead or dying. */
  unanswered = 0;

  constructor(options: SoakReaderOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      await this.#tryTo(() => this.#readTotals());
      await this.#tryTo(() => this.#readStatus());
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  async #tryTo(read: () => Promise<void>): Promise<void> {
    try {
      await read();
      this.answers++;
    } catch (error) {
      if (isUnanswered(error)) this.unanswered++;
      else this.#options.report(`a read failed: ${(error as Error).message}`);
    }
  }

  async #readTotals(): Promise<void> {
    const { url, ledger, records, report } = this.#options;
    // What is acknowledged now must be in the answer, as it waits for the newest of each shard.
    const countMin = ledger.soundCount;
    const after = ledger.newestPositions();
    const answer = await ask(url(), 'totals', after);
    if (answer.reached === false) return;
    let count = 0;
    for (const { key, values } of answer.rows) {
      const user = key['user'] as string;
      count += values['records'] as number;
      this.#notBack(`totals of ${user}`, values['records'] as number, this.#counts);
    }
    if (count < countMin) report(`an answer has ${count} records, ${countMin} were acknowledged`);
    if (count > records.count) report(`an answer has ${count} records of ${records.count} made`);
  }

  async #readStatus(): Promise<void> {
    const { url, records, report } = this.#options;
    const status = await callQueryApi<SoakStatus>(url(), '/v1/status');
    for (const [name, count] of Object.entries(status.records)) {
      this.#notBack(`status.records.${name}`, count, this.#counts);
    }
    const { folded = 0, late = 0, unmatched = 0 } = status.records;
    if (folded > records.count) report(`status: ${folded} folded of ${records.count} made`);
    if (late + unmatched > 0) report(`status: ${late} late and ${unmatched} unmatched, expected 0`);
    for (const slice of status.slices) {
      for (const name of ['epoch', 'revision', 'cursor', 'delivered'] as const) {
        this.#notBack(`${name} of ${slice.id}`, BigInt(slice[name]), this.#progress);
      }
      if (BigInt(slice.cursor) > BigInt(slice.delivered)) {
        report(`${slice.id}: the cursor ${slice.cursor} is beyond delivered ${slice.delivered}`);
      }
    }
  }

  #notBack<T extends number | bigint>(name: string, value: T, known: Map<string, T>): void {
    const before = known.get(name);
    if (before !== undefined && value < before) {
      this.#options.report(`${name} went back from ${before} to ${value}`);
    }
    known.set(name, value);
  }
}

export async function ask(
  url: string,
  view: string,
  after: readonly string[],
  next: string | null = null,
): Promise<Answer> {
  const query = new URLSearchParams({ limit: '10000' });
  if (next !== null) query.set('next', next);
  else for (const position of after) query.append('after', position);
  return callQueryApi<Answer>(url, `/v1/views/${view}?${query}`);
}

/** True if the other side was not there, or went away: no answer is no wrong answer. */
export function isUnanswered(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isShuttingDown = error.message.includes('shutting down');
  return isShuttingDown || error.cause !== undefined || error instanceof TypeError;
}
