/**
 * The environments of the aggregate function. Any free one gets any invocation; a new one begins where none is free and fewer
 * run than may, or, now and then, although others are free.
 */
import type { AggregateEvent } from '../functions/aggregate/aggregate-event.ts';
import type { AggregateHandler } from '../functions/aggregate/handler.ts';
import type { Connection, Wire } from './connection.ts';
import {
  type EnvironmentHabits,
  type Invocation,
  LambdaEnvironment,
} from './lambda-environment.ts';

const WAIT_MS = 25;
const COLD_START_MS_MAX = 400;
const COLD_START_RATE = 0.05;

export class EnvironmentPool {
  readonly #wire: Wire;
  readonly #habits: EnvironmentHabits;
  readonly #countMax: number;
  readonly #createHandler: (connection: Connection) => AggregateHandler;
  #environments: LambdaEnvironment[] = [];
  #startedCount = 0;

  constructor(
    wire: Wire,
    habits: EnvironmentHabits,
    countMax: number,
    createHandler: (connection: Connection) => AggregateHandler,
  ) {
    this.#wire = wire;
    this.#habits = habits;
    this.#countMax = countMax;
    this.#createHandler = createHandler;
  }

  async invoke(event: AggregateEvent, shardId: string): Promise<Invocation> {
    const environment = await this.#take();
    const invocation = await environment.invoke(event, shardId);
    const why = invocation.outcome === 'returned' ? '' : `: ${invocation.why}`;
    const what = 'tidemark' in event ? event.tidemark : `${event.Records.length} records`;
    this.#wire.trace.add(
      'lambda',
      `${invocation.outcome} ${environment.name}`,
      shardId,
      what + why,
    );
    return invocation;
  }

  /** A live environment, busy or not. */
  pick(): LambdaEnvironment | null {
    const live = this.#environments.filter(({ isAlive }) => isAlive);
    return live.length === 0 ? null : this.#habits.random.pick(live);
  }

  /** The function was deployed anew: environments of before take no more invocations, and end. */
  retire(afterMs: () => number): void {
    for (const environment of this.#environments) {
      this.#wire.time.after(afterMs(), () => environment.kill());
    }
  }

  killAll(): void {
    for (const environment of this.#environments) environment.kill();
  }

  thawAll(): void {
    for (const { connection } of this.#environments) connection.thaw();
  }

  async #take(): Promise<LambdaEnvironment> {
    const { random } = this.#habits;
    for (;;) {
      this.#environments = this.#environments.filter(({ isAlive }) => isAlive);
      const free = this.#environments.filter(({ isFree }) => isFree);
      const mayStart = this.#environments.filter(({ isKnown }) => isKnown).length < this.#countMax;
      const isNew = mayStart && (free.length === 0 || random.chance(COLD_START_RATE));
      if (isNew || free.length > 0) {
        const environment = isNew ? this.#start() : random.pick(free);
        environment.reserve();
        return environment;
      }
      await this.#wire.time.sleep(WAIT_MS);
    }
  }

  #start(): LambdaEnvironment {
    const name = `environment-${++this.#startedCount}`;
    const environment = new LambdaEnvironment(name, this.#wire, this.#habits, this.#createHandler);
    this.#environments.push(environment);
    environment.connection.freeze(this.#habits.random.below(COLD_START_MS_MAX));
    return environment;
  }
}
