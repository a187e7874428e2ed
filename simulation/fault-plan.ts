/**
 * What becomes of each call: its delays, and which fault of the scenario it meets, if any. Once `calm`, calls only take time.
 */
import type { Random } from './random.ts';
import type { CallFault, CallFaultKind, Scenario } from './scenario.ts';
import type { VirtualTime } from './virtual-time.ts';

export type FateKind = CallFaultKind | 'sound' | 'partitioned';

export interface Fate {
  readonly kind: FateKind;
  readonly requestMs: number;
  readonly answerMs: number;
  /** How long what is slow, late or frozen takes. */
  readonly longMs: number;
  /** If the caller dies meanwhile: the request arrives all the same. */
  readonly arrivesAnyway: boolean;
}

interface Partition {
  readonly actor: string;
  readonly port: string;
  readonly untilMs: number;
}

const CALM_DELAY_MS_MAX = 5;
const LONG_MS_MAX = [2_000, 20_000, 900_000];

export class FaultPlan {
  readonly #random: Random;
  readonly #time: VirtualTime;
  #delayMsMax: number;
  #faults: readonly CallFault[];
  #partitions: Partition[] = [];

  constructor(scenario: Scenario, time: VirtualTime, random: Random) {
    this.#faults = scenario.callFaults;
    this.#delayMsMax = scenario.delayMsMax;
    this.#time = time;
    this.#random = random;
  }

  calm(): void {
    this.#faults = [];
    this.#partitions = [];
    this.#delayMsMax = Math.min(this.#delayMsMax, CALM_DELAY_MS_MAX);
  }

  /** Calls of `actor` to the port fail for a while; an empty port means all. */
  partition(actor: string, port: string, durationMs: number): void {
    this.#partitions.push({ actor, port, untilMs: this.#time.nowMs + durationMs });
  }

  fateOf(actor: string, call: string): Fate {
    const random = this.#random;
    const delay = () => 1 + random.below(this.#delayMsMax);
    return {
      kind: this.#kindOf(actor, call),
      requestMs: delay(),
      answerMs: delay(),
      longMs: 500 + random.below(random.pick(LONG_MS_MAX)),
      arrivesAnyway: random.chance(0.5),
    };
  }

  #kindOf(actor: string, call: string): FateKind {
    const isCut = this.#partitions.some(
      (each) =>
        each.actor === actor && call.startsWith(each.port) && this.#time.nowMs < each.untilMs,
    );
    if (isCut) return 'partitioned';
    for (const { kind, call: beginning, rate } of this.#faults) {
      if (call.startsWith(beginning) && this.#random.chance(rate)) return kind;
    }
    return 'sound';
  }
}
