/**
 * How one process reaches the world: every call travels there and back in virtual time and may meet a fault on the way. A
 * dead process gets no answers any more, a frozen one gets them when it is thawed.
 */
import { TransientFault } from '../core/faults.ts';
import type { FaultPlan } from './fault-plan.ts';
import type { Trace } from './trace.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface Wire {
  readonly time: VirtualTime;
  readonly trace: Trace;
  readonly faults: FaultPlan;
}

export interface Call<T> {
  /** `<port>.<method>` */
  readonly operation: string;
  readonly key: string;
  /** May take effect after its caller has given up. */
  readonly mayBeLate: boolean;
  readonly apply: () => Promise<T>;
}

export class Connection {
  readonly actor: string;
  readonly #wire: Wire;
  /** Null for a process that neither dies nor freezes. */
  readonly #onCrash: (() => void) | null;
  #state: 'live' | 'frozen' | 'dead' = 'live';
  #held: (() => void)[] = [];
  #garbledCount = 0;
  /** Counts what its process was asked to do. */
  invocation = 0;
  /** Epochs that writes of this invocation completed and could know of, whatever became of the first answers. */
  readonly epochsCompleted = new Set<string>();
  readonly #sentBy = new WeakMap<object, number>();
  /** What its process has computed since its last call, in virtual time: the next one leaves so much later. */
  #workMs = 0;

  constructor(actor: string, wire: Wire, onCrash: (() => void) | null) {
    this.actor = actor;
    this.#wire = wire;
    this.#onCrash = onCrash;
  }

  get state(): 'live' | 'frozen' | 'dead' {
    return this.#state;
  }

  /** Answers that came with a wrong bit. */
  get garbledCount(): number {
    return this.#garbledCount;
  }

  /** Remembers which invocation a request belongs to. */
  sends(request: object): void {
    this.#sentBy.set(request, this.invocation);
  }

  /** False for what an invocation of before had sent. */
  isOfThisInvocation(request: object): boolean {
    return this.#sentBy.get(request) === this.invocation;
  }

  /** Its process computes for so long. */
  work(forMs: number): void {
    this.#workMs += forMs;
  }

  call<T>(call: Call<T>): Promise<T> {
    // What killed the process may have a few more lines to run.
    if (this.#state === 'dead') return new Promise<T>(() => {});
    const { operation, key } = call;
    const fate = this.#wire.faults.fateOf(this.actor, `${operation} ${key}`);
    const workMs = this.#workMs;
    this.#workMs = 0;
    const requestMs = fate.requestMs + workMs;
    const longMs = fate.longMs + workMs;
    const { answerMs } = fate;
    return new Promise<T>((resolve, reject) => {
      const refuse = (why: string, afterMs: number) => {
        const fault = new TransientFault(`${operation} ${key}: ${why}`);
        this.#answer(call, why, afterMs, () => reject(fault));
      };
      const arrive = (afterMs: number, answered: (value: T) => void) => {
        this.#wire.time.after(afterMs, () => {
          if (this.#state === 'dead' && !fate.arrivesAnyway) return;
          call.apply().then(answered, (error: unknown) => {
            this.#answer(call, `threw ${error}`, answerMs, () => reject(error));
          });
        });
      };
      const answer = (value: T) => {
        this.#answer(call, summaryOf(value), answerMs, () => resolve(value));
      };
      switch (fate.kind) {
        case 'sound':
          return arrive(requestMs, answer);
        case 'slow':
          return arrive(longMs, answer);
        case 'throttled':
          return refuse('throttled', requestMs);
        case 'partitioned':
        case 'request-lost':
          return refuse(fate.kind, longMs);
        case 'answer-lost':
          return arrive(requestMs, () => refuse('answer-lost', longMs));
        case 'applied-late':
          if (call.mayBeLate) {
            arrive(longMs, (value) => this.#note(call, `applied late: ${summaryOf(value)}`));
          }
          return refuse('given up', requestMs);
        case 'crash':
          arrive(requestMs, answer);
          return this.#wire.time.after(requestMs, () => this.#crash(call));
        case 'freeze':
          arrive(requestMs, answer);
          return this.#wire.time.after(requestMs, () => this.freeze(longMs));
        case 'garbled':
          return arrive(requestMs, (value) => answer(this.#garbled(value, requestMs)));
      }
    });
  }

  /** Resolves after so long, for a process that lives then. */
  pause(ms: number): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#wire.time.after(ms, () => {
        if (this.#state === 'dead') return;
        if (this.#state === 'frozen') this.#held.push(resolve);
        else resolve();
      });
    });
  }

  /** Stands still for so long, whatever is answered meanwhile. */
  freeze(forMs: number): void {
    if (this.#state !== 'live' || this.#onCrash === null) return;
    this.#state = 'frozen';
    this.#wire.trace.add(this.actor, 'frozen', '', `for ${forMs} ms`);
    this.#wire.time.after(forMs, () => this.thaw());
  }

  thaw(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'live';
    this.#wire.trace.add(this.actor, 'thawed', '', '');
    const held = this.#held;
    this.#held = [];
    for (const settle of held) settle();
  }

  /** The process is gone: nothing that it awaits will ever come. */
  kill(): void {
    this.#state = 'dead';
    this.#held = [];
  }

  /** Something kills the process. */
  die(of: string): void {
    if (this.#onCrash === null || this.#state === 'dead') return;
    this.#wire.trace.add(this.actor, 'DIED', '', of);
    this.#onCrash();
  }

  #crash(call: Call<unknown>): void {
    this.die(`at ${call.operation} ${call.key}`);
  }

  #answer(call: Call<unknown>, outcome: string, afterMs: number, settle: () => void): void {
    this.#wire.time.after(afterMs, () => {
      if (this.#state === 'dead') return;
      this.#note(call, outcome);
      if (this.#state === 'frozen') this.#held.push(settle);
      else settle();
    });
  }

  #note({ operation, key }: Call<unknown>, outcome: string): void {
    this.#wire.trace.add(this.actor, operation, key, outcome);
  }

  #garbled<T>(value: T, draw: number): T {
    if (!(value instanceof Uint8Array) || value.length === 0) return value;
    this.#garbledCount++;
    const bytes = new Uint8Array(value);
    const at = (draw * 7919) % bytes.length;
    bytes[at] = (bytes[at] as number) ^ (1 << (draw & 7));
    return bytes as T;
  }
}

function summaryOf(value: unknown): string {
  if (value === undefined) return 'done';
  if (value === null) return 'none';
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (Array.isArray(value)) return `${value.length} items`;
  if (typeof value !== 'object') return String(value);
  if ('records' in value && Array.isArray(value.records)) return `${value.records.length} records`;
  if ('outcome' in value) return String(value.outcome);
  if ('revision' in value) return `revision ${value.revision}`;
  return 'done';
}
