/**
 * Makes a failing scenario smaller: leaves out faults, incidents and actors, and halves numbers, as long as a failure of the same
 * kind remains. What is left is what the failure needs.
 */
import type { Scenario } from './scenario.ts';

/** The kind of failure that a scenario gives; null if it passes. */
export type Try = (scenario: Scenario) => Promise<string | null>;

const TRIES_MAX = 300;

export async function shrinkScenario(
  failing: Scenario,
  kind: string,
  attempt: Try,
  triesMax = TRIES_MAX,
): Promise<Scenario> {
  let smallest = failing;
  let triesLeft = triesMax;
  for (;;) {
    const before = smallest;
    for (const smaller of smallerOnes(smallest)) {
      if (triesLeft-- <= 0) return smallest;
      const candidate = smaller(smallest);
      if (candidate === null || (await attempt(candidate)) !== kind) continue;
      smallest = candidate;
    }
    if (smallest === before) return smallest;
  }
}

/** Makes a scenario smaller; null if it is as small as that already. */
type Step = (scenario: Scenario) => Scenario | null;

const NUMBERS = [
  ['readers', 0],
  ['mappings', 1],
  ['environments', 1],
  ['shards', 1],
  ['burstRate', 0],
  ['producerRetryRate', 0],
  ['heartbeatRate', 0],
  ['tickEveryMs', 300_000],
  ['redeliveryRate', 0],
  ['zombieRate', 0],
  ['clockSkewMsMax', 0],
  ['shortReadRate', 0],
  ['emptyReadRate', 0],
  ['batchWindowMs', 0],
  ['delayMsMax', 2],
  ['auditEvery', 1],
  ['foldMs', 0],
  ['baseMs', 0],
  ['resendRate', 0],
] as const;
const RECORDS_MIN = 2;

function smallerOnes(scenario: Scenario): Step[] {
  const knobs = Object.keys(scenario.knobs) as (keyof Scenario['knobs'])[];
  return [
    (from) => (from.callFaults.length === 0 ? null : { ...from, callFaults: [] }),
    (from) => (from.incidents.length === 0 ? null : { ...from, incidents: [] }),
    (from) => (from.harmful.length === 0 ? null : { ...from, harmful: [] }),
    ...scenario.callFaults.map((fault): Step => {
      return (from) => ({ ...from, callFaults: from.callFaults.filter((each) => each !== fault) });
    }),
    ...scenario.incidents.map((incident): Step => {
      return (from) => ({ ...from, incidents: from.incidents.filter((each) => each !== incident) });
    }),
    (from) => fewerRecords(from, Math.floor(from.records / 2)),
    (from) => fewerRecords(from, from.records - Math.ceil(from.records / 8)),
    (from) => fewerRecords(from, from.records - 1),
    ...NUMBERS.map(([name, least]): Step => {
      return (from) => (from[name] === least ? null : { ...from, [name]: least });
    }),
    ...knobs.map((knob): Step => {
      return (from) => {
        const { [knob]: _, ...rest } = from.knobs;
        return knob in from.knobs ? { ...from, knobs: rest } : null;
      };
    }),
  ];
}

function fewerRecords(from: Scenario, records: number): Scenario | null {
  return records < RECORDS_MIN || records >= from.records ? null : { ...from, records };
}
