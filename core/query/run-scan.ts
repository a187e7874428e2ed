/**
 * The entries of one run in a range of keys, block by block. Where all of the run is wanted, and from its second block on, the
 * next block is on its way while one is used.
 */
import type { ClosedEntry } from '../state/closed-entries.ts';
import type { Pace } from './pace.ts';
import { type RowBefore, seekEntry } from './row-cursor.ts';

interface ScanOptions {
  /** Of a fault: the run is damaged, so it ends here; otherwise the fault is thrown. */
  readonly isBad: (fault: unknown) => boolean;
  readonly pace: Pace;
  readonly isWhole: boolean;
}

type Portion = IteratorResult<readonly ClosedEntry[], unknown>;

export class RunScan {
  readonly #portions: AsyncGenerator<readonly ClosedEntry[]>;
  readonly #before: RowBefore | null;
  readonly #options: ScanOptions;
  #coming: Promise<Portion> | null = null;
  #readCount = 0;

  constructor(
    portions: AsyncGenerator<readonly ClosedEntry[]>,
    before: RowBefore | null,
    options: ScanOptions,
  ) {
    this.#portions = portions;
    this.#before = before;
    this.#options = options;
  }

  /** The next entries, those behind `before` only; null at the end. */
  async next(): Promise<readonly ClosedEntry[] | null> {
    const { isBad, pace, isWhole } = this.#options;
    const coming = this.#coming ?? this.#read();
    try {
      const { done, value } = await coming;
      this.#coming = null;
      if (done === true) return null;
      if (isWhole || this.#readCount > 1) this.#coming = this.#read();
      await pace.pause();
      if (this.#before === null) return value;
      return value.slice(seekEntry(value, this.#before.key, this.#before.windowStartMs + 1));
    } catch (fault) {
      this.#coming = null;
      if (isBad(fault)) return null;
      throw fault;
    }
  }

  /** Nothing is on its way any more when this has resolved. */
  async close(): Promise<void> {
    await this.#coming?.catch(() => {});
    await this.#portions.return(undefined);
  }

  #read(): Promise<Portion> {
    this.#readCount++;
    const coming = this.#portions.next();
    // What is not used may fail as it likes.
    coming.catch(() => {});
    return coming;
  }
}
