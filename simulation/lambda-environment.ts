/**
 * One environment of the aggregate function: the real handler, with a memory that lives until the process dies. An
 * invocation that takes too long ends for its caller; the process is killed, or lives on as a zombie and finishes later
 * what it had begun.
 */
import type { DeliveryReport } from '../core/task/delivery-report.ts';
import type { AggregateEvent } from '../functions/aggregate/aggregate-event.ts';
import type { AggregateHandler } from '../functions/aggregate/handler.ts';
import { Connection, type Wire } from './connection.ts';
import type { Random } from './random.ts';

export type Invocation =
  | { readonly outcome: 'returned'; readonly reports: readonly DeliveryReport[] }
  | { readonly outcome: 'failed' | 'timed-out' | 'died'; readonly why: string };

/** What an invocation threw, with what there is to judge it by. */
export interface ThrownFault {
  readonly fault: unknown;
  readonly environment: string;
  readonly shardId: string;
  /** `deliver`, or what a slice event asked. */
  readonly asked: string;
  readonly tookMs: number;
  /** A blob came with a wrong bit meanwhile. */
  readonly sawGarbled: boolean;
}

export interface EnvironmentHabits {
  readonly timeoutMs: number;
  readonly zombieRate: number;
  readonly random: Random;
  readonly onFault: (thrown: ThrownFault) => void;
  readonly report: (kind: string, detail: string) => void;
  /** An environment died, or is left behind in the middle of its work. */
  readonly onEnd: () => void;
}

const ZOMBIE_MS_MAX = 1_200_000;

export class LambdaEnvironment {
  readonly name: string;
  readonly connection: Connection;
  readonly #wire: Wire;
  readonly #habits: EnvironmentHabits;
  readonly #handler: AggregateHandler;
  #isBusy = false;
  #isZombie = false;
  #onDeath: () => void = () => {};

  constructor(
    name: string,
    wire: Wire,
    habits: EnvironmentHabits,
    createHandler: (connection: Connection) => AggregateHandler,
  ) {
    this.name = name;
    this.#wire = wire;
    this.#habits = habits;
    this.connection = new Connection(name, wire, () => this.kill());
    this.#handler = createHandler(this.connection);
  }

  get isAlive(): boolean {
    return this.connection.state !== 'dead';
  }

  /** Takes an invocation now. */
  get isFree(): boolean {
    return !this.#isBusy && this.connection.state === 'live';
  }

  /** Counts towards the number of environments that run at once. */
  get isKnown(): boolean {
    return this.isAlive && !this.#isZombie;
  }

  /** A caller that takes a free environment says so at once: another may be looking for one in the same instant. */
  reserve(): void {
    this.#isBusy = true;
  }

  kill(): void {
    if (this.isAlive) this.#habits.onEnd();
    this.connection.kill();
    this.#onDeath();
  }

  invoke(event: AggregateEvent, shardId: string): Promise<Invocation> {
    const { time, trace } = this.#wire;
    const { timeoutMs } = this.#habits;
    const beganMs = time.nowMs;
    const garbledBefore = this.connection.garbledCount;
    this.connection.invocation++;
    this.connection.epochsCompleted.clear();
    return new Promise<Invocation>((resolve) => {
      let isOpen = true;
      const end = (invocation: Invocation) => {
        if (!isOpen) return;
        isOpen = false;
        resolve(invocation);
      };
      this.#onDeath = () => end({ outcome: 'died', why: 'the process died' });
      time.after(timeoutMs, () => {
        if (!isOpen) return;
        end({ outcome: 'timed-out', why: `no answer after ${timeoutMs} ms` });
        this.#leaveBehind();
      });
      const context = { getRemainingTimeInMillis: () => beganMs + timeoutMs - time.nowMs };
      this.#handler(event, context).then(
        (reports) => {
          this.#finish();
          const commits = reports.reduce((sum, report) => sum + report.commits, 0);
          const completed = this.connection.epochsCompleted.size;
          if (commits < completed) {
            const detail = `${this.name} completed ${completed} epochs and knows of ${commits}`;
            this.#habits.report('a write was not known for its own', detail);
          }
          end({ outcome: 'returned', reports });
        },
        (fault: unknown) => {
          this.#finish();
          trace.add(this.name, 'failed', shardId, String(fault));
          this.#habits.onFault({
            fault,
            environment: this.name,
            shardId,
            asked: 'tidemark' in event ? event.tidemark : 'deliver',
            tookMs: time.nowMs - beganMs,
            sawGarbled: this.connection.garbledCount > garbledBefore,
          });
          end({ outcome: 'failed', why: String(fault) });
        },
      );
    });
  }

  #finish(): void {
    this.#isBusy = false;
    this.#isZombie = false;
  }

  #leaveBehind(): void {
    const { random, zombieRate } = this.#habits;
    this.#isZombie = random.chance(zombieRate);
    if (this.#isZombie) {
      this.#habits.onEnd();
      this.connection.freeze(random.below(ZOMBIE_MS_MAX));
    } else this.kill();
  }
}
