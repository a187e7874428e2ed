/**
 * What happens to the small world besides its records, by name: each schedule is run with every fault at every call.
 */
import { FAULT_KINDS, type FaultKind, faultKindsAt } from './fault-switch.ts';
import { randomLog } from './small-log.ts';
import { World, type WorldOptions } from './world.ts';

/** Its first 9 records have two late ones that can be redriven, and one that cannot; no event of these comes twice. */
const SHORT_LOG = randomLog(20, 2241);
const UNSAVED = { unsavedAgeMsMax: 2_500 };

export const SCHEDULES = {
  'checkpoints only': { log: randomLog(30, 7) },
  'Kinesis records with several inside': {
    log: SHORT_LOG,
    batchSizes: [1],
    insideSizes: [2, 3],
    tickEvery: 3,
    events: { 5: 'redrive' },
  },
  'batches that are only delivered, and ticks': {
    log: randomLog(24, 7),
    knobs: UNSAVED,
    tickEvery: 4,
  },
  'runs that ticks merge': {
    log: SHORT_LOG,
    batchSizes: [1],
    tickEvery: 2,
    knobs: {
      runFanIn: 2,
      runBytesMaxToMergeInCommit: 0,
      runMergeRoundMs: 0,
      uploadPieceBytes: 100,
    },
  },
  'a redrive': { log: SHORT_LOG, tickEvery: 3, events: { 9: 'redrive' } },
  // So that one of the faults lets another environment deliver only, just before the tick's own commit.
  'a redrive of what is not saved': {
    log: SHORT_LOG,
    knobs: { unsavedAgeMsMax: 1_500 },
    tickEvery: 4,
    events: { 10: 'redrive' },
  },
  'a lost delta after a redrive': {
    log: SHORT_LOG,
    tickEvery: 3,
    events: { 9: 'redrive', 12: 'lose-delta' },
  },
  'a lost base': { log: SHORT_LOG, tickEvery: 4, events: { 7: 'lose-base' } },
  'a lost delta of what is not saved': {
    log: SHORT_LOG,
    knobs: UNSAVED,
    tickEvery: 4,
    events: { 8: 'lose-delta' },
  },
  'a change of plan and a rollback': {
    log: SHORT_LOG,
    tickEvery: 4,
    events: { 2: 'activate-later', 6: 'activate-first' },
  },
  'a change of plan of what is not saved, and a redrive': {
    log: SHORT_LOG,
    knobs: UNSAVED,
    tickEvery: 3,
    events: { 3: 'activate-later', 7: 'redrive', 9: 'activate-first' },
  },
  'a recovery': {
    log: SHORT_LOG,
    knobs: UNSAVED,
    tickEvery: 4,
    events: { 6: 'recover' },
  },
} satisfies Record<string, WorldOptions>;

export type ScheduleName = keyof typeof SCHEDULES;

/** A schedule's run without faults. */
export async function runWithoutFaults(name: ScheduleName): Promise<World> {
  const world = new World(SCHEDULES[name]);
  await world.run();
  return world;
}

/**
 * Runs the schedule once for each fault at each of its calls, from its first event on: before that, each is like another.
 * Throws at the first that goes wrong; gives the number of runs.
 */
export async function runWithEachFault(name: ScheduleName): Promise<number> {
  const { faultSwitch, callsBeforeEvents } = await runWithoutFaults(name);
  let runs = 0;
  for (let call = callsBeforeEvents; call < faultSwitch.calls.length; call++) {
    for (const kind of faultKindsAt(faultSwitch.calls, call)) {
      await runWith(name, new Map([[call, kind]]));
      runs++;
    }
  }
  return runs;
}

/** Two faults in one run, the second a few calls after the first: every `stride`th call, other kinds each time. */
export async function runWithTwoFaults(name: ScheduleName, stride: number): Promise<number> {
  const { faultSwitch, callsBeforeEvents } = await runWithoutFaults(name);
  let count = 0;
  for (let first = callsBeforeEvents; first < faultSwitch.calls.length; first += stride) {
    for (const gap of [1, 2, 4, 7]) {
      const kinds = [first + gap, first * gap + 1].map((n) => FAULT_KINDS[n % 6] as FaultKind);
      await runWith(name, new Map(kinds.map((kind, index) => [first + index * gap, kind])));
      count++;
    }
  }
  return count;
}

async function runWith(name: ScheduleName, faults: ReadonlyMap<number, FaultKind>): Promise<void> {
  const world = new World({ ...SCHEDULES[name], faults });
  await world.run().catch((error: unknown) => {
    const at = [...faults].map(
      ([call, kind]) => `${kind} at call ${call} (${world.faultSwitch.calls[call]?.name})`,
    );
    throw new Error(`${name}: ${at.join(', ')}`, { cause: error });
  });
  if (world.faultSwitch.fired === 0) throw new Error(`${name}: no fault came to pass`);
}
