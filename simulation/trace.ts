/**
 * What happened in a simulation, in order: a rolling hash of all of it, by which two runs are compared, and the last events
 * for people.
 */

export interface TraceEvent {
  readonly atMs: number;
  readonly actor: string;
  readonly operation: string;
  readonly key: string;
  readonly outcome: string;
}

const KEPT = 250;

export class Trace {
  #eventCount = 0;
  #low = 0x811c9dc5 | 0;
  #high = 0x9e3779b9 | 0;
  readonly #last: TraceEvent[] = [];
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get eventCount(): number {
    return this.#eventCount;
  }

  add(actor: string, operation: string, key: string, outcome: string): void {
    const event = { atMs: this.#nowMs(), actor, operation, key, outcome };
    this.#last[this.#eventCount++ % KEPT] = event;
    this.#mix(event.atMs);
    for (const text of [actor, operation, key, outcome]) this.#mixText(text);
  }

  /** Of everything so far: 16 hex digits. */
  hash(): string {
    const word = (value: number) => (value >>> 0).toString(16).padStart(8, '0');
    return word(this.#high) + word(this.#low);
  }

  /** The last events, the newest last, one a line. */
  timeline(): string[] {
    const from = this.#eventCount % KEPT;
    const events =
      this.#eventCount <= KEPT
        ? this.#last
        : [...this.#last.slice(from), ...this.#last.slice(0, from)];
    return events.map(formatEvent);
  }

  #mixText(text: string): void {
    for (let index = 0; index < text.length; index++) this.#mix(text.charCodeAt(index));
    this.#mix(text.length);
  }

  /** FNV-1a in the low word, xorshift-multiply in the high one. */
  #mix(value: number): void {
    this.#low = Math.imul(this.#low ^ value, 0x01000193);
    const high = Math.imul(this.#high ^ value ^ (this.#low >>> 15), 0x85ebca6b);
    this.#high = high ^ (high >>> 13);
  }
}

function formatEvent({ atMs, actor, operation, key, outcome }: TraceEvent): string {
  const time = (atMs / 1000).toFixed(3).padStart(10);
  return `${time} s  ${actor.padEnd(14)} ${operation.padEnd(22)} ${key} ${outcome}`.trimEnd();
}
