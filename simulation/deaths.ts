/**
 * How environments end: a record that kills the environment that folds it must be quarantined at last, and one that does not is suspected where
 * environments die of other things.
 */
import type { Report } from './auditor.ts';

/** Of one record, once nothing else goes wrong: until it is quarantined, and as often again for each request to redrive it. */
const DEATHS_MAX = 200;

export class Deaths {
  readonly #report: Report;
  readonly #byRecord = new Map<string, number>();
  #ended = 0;
  #killed = 0;
  #isCalm = false;

  constructor(report: Report) {
    this.#report = report;
  }

  /** Environments that died, or were left behind at work, for another reason than a record. */
  get others(): number {
    return this.#ended - this.#killed;
  }

  calm(): void {
    this.#isCalm = true;
    this.#byRecord.clear();
  }

  ended(): void {
    this.#ended++;
  }

  /** To be told before the environment ends. */
  killedBy(data: Uint8Array): void {
    const name = new TextDecoder().decode(data);
    const deaths = (this.#byRecord.get(name) ?? 0) + 1;
    this.#byRecord.set(name, deaths);
    this.#killed++;
    if (this.#isCalm && deaths > DEATHS_MAX) this.#report('a record goes on killing', name);
  }
}
