/**
 * Tidemark's core in a world where one seed decides everything: the clock, the order of all that happens, and what goes wrong. The
 * core and the handlers run as they are; only ports are replaced. Each seed runs twice, and both runs must be the same.
 */
import type { Plan } from '../core/definition/plan.ts';
import { withoutReality } from './forbidden-reality.ts';
import type { RecordGenerator } from './producer.ts';
import { drawScenario, type Scenario } from './scenario.ts';
import { type Failure, type RunResult, World } from './world.ts';

export interface SimulationOptions {
  readonly plan: Plan;
  /** Plans of the same pipeline that may become active instead. */
  readonly otherPlans?: readonly Plan[];
  /** Called once a run: it makes a generator that begins anew. */
  readonly records: () => RecordGenerator;
  readonly seed: number;
  /** Does not run it again to see that both runs are the same. */
  readonly once?: boolean;
  /** Instead of the one that the seed draws. */
  readonly scenario?: Scenario;
}

export interface SeedVerdict extends Omit<RunResult, 'failure'> {
  readonly seed: number;
  readonly scenario: Scenario;
  /** Null if every promise was kept. */
  readonly failure: Failure | null;
}

/** Runs a seed and says what became of it. Throws nothing: a fault is a failure. */
export async function simulateSeed(options: SimulationOptions): Promise<SeedVerdict> {
  const { seed } = options;
  const scenario = options.scenario ?? drawScenario(seed);
  const first = await simulateOnce(options, scenario, true);
  if (options.once === true) return { ...first, seed, scenario };
  // A run that is right is the same without its checks; one that is not ends where it was found out.
  const second = await simulateOnce(options, scenario, first.failure !== null);
  const isSame =
    first.traceHash === second.traceHash && first.failure?.kind === second.failure?.kind;
  if (isSame) return { ...first, seed, scenario };
  const detail = `traces ${first.traceHash} and ${second.traceHash} after ${first.eventCount} and ${second.eventCount} events`;
  return { ...first, seed, scenario, failure: { kind: 'not deterministic', detail } };
}

function simulateOnce(
  { plan, otherPlans = [], records }: SimulationOptions,
  scenario: Scenario,
  checks: boolean,
): Promise<RunResult> {
  return withoutReality(() => new World([plan, ...otherPlans], scenario, records(), checks).run());
}
