/**
 * The pipeline under faults: crashes, lost answers, owners that wake up too late. None of them may change an answer, so
 * whatever is seen here is a bug of Tidemark.
 */
import type { Plan } from '../core/definition/plan.ts';
import { Random } from '../simulation/random.ts';
import { drawScenario } from '../simulation/scenario.ts';
import { simulateSeed } from '../simulation/simulation.ts';
import { brokenPromise, type Observation } from './findings.ts';
import type { TimedRecord } from './timed-records.ts';

/** Many short runs find more than a long one. */
const RECORDS_MAX = 200;

/** Runs some of the records, in their order, through the world of one seed. */
export async function observeFaults(
  plan: Plan,
  records: readonly TimedRecord[],
  seed: number,
): Promise<Observation[]> {
  if (records.length === 0) return [];
  const drawn = drawScenario(seed);
  const count = Math.min(records.length, drawn.records, RECORDS_MAX);
  const from = new Random(`slice ${seed}`).below(records.length - count + 1);
  const generator = () => {
    let next = from;
    // The world asks for a few more at its end: producers then send the first ones again.
    return () => records[next++ % records.length] as TimedRecord;
  };
  const scenario = { ...drawn, records: count };
  const { failure } = await simulateSeed({ plan, records: generator, seed, scenario });
  if (failure === null) return [];
  const detail = `${failure.kind}: ${failure.detail.split('\n', 1)[0]?.replace(/\.+$/, '')}`;
  return [brokenPromise(detail, seed)];
}
