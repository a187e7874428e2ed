/**
 * Everything that is drawn before a simulation begins, as plain data: the same scenario gives the same run, and a smaller one
 * can be made of it by leaving things out. What is drawn while it runs comes from `seed` too.
 */
import { DEFAULT_KNOBS, type Knobs } from '../core/knobs.ts';
import type { Harm } from './harmful-record.ts';
import { Random } from './random.ts';

/**
 * What may go wrong with one call of a port.
 *
 * - `slow`: takes seconds to minutes.
 * - `throttled`: refused at once, not applied.
 * - `request-lost`: not applied, and the caller hears so late.
 * - `answer-lost`: applied, and the caller hears of a failure.
 * - `applied-late`: the caller has long given up when it is applied.
 * - `crash`: the environment dies at this await; what is in flight may still be applied.
 * - `freeze`: the environment stands still at this await, and goes on much later.
 * - `garbled`: a blob's bytes arrive with a bit turned.
 */
export type CallFaultKind =
  | 'slow'
  | 'throttled'
  | 'request-lost'
  | 'answer-lost'
  | 'applied-late'
  | 'crash'
  | 'freeze'
  | 'garbled';

export interface CallFault {
  readonly kind: CallFaultKind;
  /** Beginning of `<port>.<method> <key>`; empty: every call. */
  readonly call: string;
  readonly rate: number;
}

/** Something that happens once, at a time of its own. */
export type Incident = { readonly atMs: number } & (
  | { readonly kind: 'checkpoint' | 'recover' | 'redrive' | 'split' | 'merge' | 'trim' | 'restart' }
  /** Stored blobs of a slice are damaged or lost; what the oldest epoch that it keeps needs stays sound. */
  | { readonly kind: 'damage'; readonly blobs: number }
  /** Another pipeline file is activated, or one of before again: the `plan`-th of those that there are. */
  | { readonly kind: 'change-plan'; readonly plan: number }
  /** The clock of one environment is set, or those of all processes: as on one machine. The stream's own is right. */
  | { readonly kind: 'clock-jump'; readonly byMs: number; readonly of: 'environment' | 'all' }
  | { readonly kind: 'partition'; readonly port: string; readonly durationMs: number }
  /** The mapping is deleted, and made again after a while; `fresh`: no environment of before is left then. */
  | {
      readonly kind: 'mapping-replaced';
      readonly from: 'LATEST' | 'TRIM_HORIZON';
      readonly afterMs: number;
      readonly fresh?: boolean;
    }
  /** Records that a slice still needs are trimmed: it must stop, and say so. */
  | { readonly kind: 'trim-too-much' }
);

export interface Scenario {
  readonly seed: number;
  readonly shards: number;
  readonly environments: number;
  readonly readers: number;
  readonly mappings: number;
  readonly records: number;
  /** Mean time between two records. */
  readonly paceMs: number;
  /** Share of records that come in the same instant as the one before. */
  readonly burstRate: number;
  readonly producerRetryRate: number;
  readonly heartbeatRate: number;
  readonly tickEveryMs: number;
  /** Of each reader, on average. */
  readonly questionEveryMs: number;
  /** A trim spares what a fallback or a rollback may need, not only what comes after the newest checkpoint. */
  readonly trimsForFallback: boolean;
  readonly batchRecordsMax: number;
  readonly batchWindowMs: number;
  readonly functionTimeoutMs: number;
  /** Share of answered batches after which the mapping goes on from an earlier place. */
  readonly redeliveryRate: number;
  /** Share of time-outs that leave a live environment behind. */
  readonly zombieRate: number;
  readonly delayMsMax: number;
  readonly clockSkewMsMax: number;
  readonly stateBytesMax: number;
  /** What computing takes: of each record that is folded or redriven, and of each base. */
  readonly foldMs: number;
  readonly baseMs: number;
  /** Records that harm their environments, by index. */
  readonly harmful: readonly { readonly record: number; readonly harm: Harm }[];
  /** Share of redriven records that their producer sends again afterwards. */
  readonly resendRate: number;
  readonly shortReadRate: number;
  readonly emptyReadRate: number;
  /** An auditor looks at every n-th HEAD. */
  readonly auditEvery: number;
  readonly knobs: Partial<Knobs>;
  readonly callFaults: readonly CallFault[];
  readonly incidents: readonly Incident[];
}

export function drawScenario(seed: number): Scenario {
  const random = new Random(`scenario ${seed}`);
  const records = random.between(20, 200);
  const paceMs = random.pick([20, 300, 2_000, 20_000]);
  const functionTimeoutMs = random.pick([3_000, 15_000, 60_000]);
  const horizonMs = Math.max(30_000, records * paceMs);
  const isCalm = random.chance(0.1);
  const damages = !isCalm && random.chance(0.3);
  const drawn: Omit<Scenario, keyof Habits> = {
    seed,
    shards: random.between(1, 4),
    environments: random.between(1, 5),
    readers: random.between(0, 3),
    mappings: random.chance(0.2) ? 2 : 1,
    records,
    paceMs,
    burstRate: random.pick([0, 0.3, 0.8]),
    producerRetryRate: random.pick([0, 0.05, 0.3]),
    heartbeatRate: random.pick([0, 0.1]),
    tickEveryMs: Math.max(5_000, Math.floor(horizonMs / random.pick([5, 40]))),
    questionEveryMs: Math.max(500, Math.floor(horizonMs / 20)),
    trimsForFallback: damages || random.chance(0.5),
    batchRecordsMax: random.pick([1, 2, 5, 20, 50]),
    batchWindowMs: random.pick([0, 200, 5_000]),
    functionTimeoutMs,
    redeliveryRate: random.pick([0, 0.1, 0.4]),
    zombieRate: random.pick([0, 0.5, 1]),
    delayMsMax: random.pick([2, 20, 200]),
    clockSkewMsMax: random.pick([0, 1_000, 300_000]),
    stateBytesMax: random.pick([0, 20_000, 1_000_000_000]),
    shortReadRate: random.pick([0, 0.3]),
    emptyReadRate: random.pick([0, 0.1]),
    auditEvery: random.pick([1, 3, 10]),
    knobs: drawKnobs(random, functionTimeoutMs),
    callFaults: isCalm ? [] : drawCallFaults(random),
    incidents: isCalm
      ? []
      : [...drawIncidents(random, horizonMs, damages), ...drawChanges(random, horizonMs)].sort(
          (a, b) => a.atMs - b.atMs,
        ),
  };
  const habits = drawHabits(drawn, random.fork('habits'));
  const more = isCalm ? [] : drawHardships(random.fork('hardships'), horizonMs, damages);
  const incidents = [...drawn.incidents, ...more].sort((a, b) => a.atMs - b.atMs);
  const garbles = !isCalm && random.fork('garbles').chance(0.08);
  const uploads = isCalm ? [] : drawUploadFaults(random.fork('uploads'));
  const callFaults = [...drawn.callFaults, ...uploads, ...(garbles ? [GARBLED_RUNS] : [])];
  // A rollback rewinds to a checkpoint of before, and what comes after that must still be there when it does.
  const changesPlan = incidents.some(({ kind }) => kind === 'change-plan');
  const trimsForFallback = drawn.trimsForFallback || changesPlan;
  return { ...drawn, ...habits, callFaults, incidents, trimsForFallback };
}

type Habits = Pick<Scenario, 'foldMs' | 'baseMs' | 'harmful' | 'resendRate'>;

/** What an owner has to do between two writes must fit into an invocation, and into a lease, with room to spare. */
const WORK_SHARE = 4;

function drawHabits(
  { knobs, records, functionTimeoutMs, batchRecordsMax }: Omit<Scenario, keyof Habits>,
  random: Random,
): Habits {
  const { recoveryLeaseMs, replayChunkRecords } = { ...DEFAULT_KNOBS, ...knobs };
  const workMsMax = Math.floor(Math.min(functionTimeoutMs, recoveryLeaseMs) / WORK_SHARE);
  const chunkRecords = Math.max(batchRecordsMax, Math.min(replayChunkRecords, records));
  const harms = random.chance(0.25) ? random.between(1, 3) : 0;
  return {
    foldMs: Math.min(random.pick([0, 0, 1, 30]), Math.floor(workMsMax / chunkRecords)),
    baseMs: Math.min(random.pick([0, 0, 200, 2_000]), workMsMax),
    harmful: Array.from({ length: harms }, () => ({
      record: random.below(records),
      harm: random.pick(['kills', 'throws'] as const),
    })),
    resendRate: random.pick([0, 0.5]),
  };
}

function drawKnobs(random: Random, functionTimeoutMs: number): Partial<Knobs> {
  const drawn = {
    chainLengthMax: random.pick([1, 2, 5, 20, DEFAULT_KNOBS.chainLengthMax]),
    chainBytesMinToCompact: random.pick([500, 5_000, DEFAULT_KNOBS.chainBytesMinToCompact]),
    mergeFanIn: random.fork('merge').pick([2, 3, DEFAULT_KNOBS.mergeFanIn]),
    partBytesMax: random.fork('part').pick([60, 400, DEFAULT_KNOBS.partBytesMax]),
    partBytesMinToRewrite: random
      .fork('rewrite')
      .pick([1, 300, DEFAULT_KNOBS.partBytesMinToRewrite]),
    idPartsMax: random.fork('ids').pick([0, 2, DEFAULT_KNOBS.idPartsMax]),
    drainBytesMin: random.fork('drain').pick([1, 100, 1_000, DEFAULT_KNOBS.drainBytesMin]),
    runFanIn: random.pick([2, 3, DEFAULT_KNOBS.runFanIn]),
    runBlockBytes: random.fork('block').pick([1, 60, 300, DEFAULT_KNOBS.runBlockBytes]),
    runBytesMaxToMerge: random.pick([2_000, DEFAULT_KNOBS.runBytesMaxToMerge]),
    ...drawMergeKnobs(random.fork('merge')),
    // As in limits.ts, longer than any invocation; what outlives it all the same may find blobs gone.
    retentionGraceMs: random.pick([60_000, 600_000, DEFAULT_KNOBS.retentionGraceMs]),
    replayChunkRecords: random.pick([1, 3, 10, 1_000]),
    commitReserveMs: Math.min(random.pick([100, 1_000, 5_000]), functionTimeoutMs / 2),
    unsavedAgeMsMax: random.pick([0, 0, 2_000, 30_000]),
    rollbackGraceMs: random.pick([20_000, DEFAULT_KNOBS.rollbackGraceMs]),
    recoveryLeaseMs: random.pick([5_000, DEFAULT_KNOBS.recoveryLeaseMs]),
    recoveryBacklogMsMax: random
      .fork('backlog')
      .pick([10_000, 10_000, DEFAULT_KNOBS.recoveryBacklogMsMax]),
    headWriteAttemptsMax: random.pick([1, 2, DEFAULT_KNOBS.headWriteAttemptsMax]),
  };
  return random.chance(0.1) ? {} : drawn;
}

/** So small that ticks merge runs too, in rounds of one step at times, and write them in pieces. */
function drawMergeKnobs(random: Random): Partial<Knobs> {
  return {
    runBytesMaxToMergeInCommit: random.pick([0, 500, DEFAULT_KNOBS.runBytesMaxToMergeInCommit]),
    runMergeRoundMs: random.pick([0, DEFAULT_KNOBS.runMergeRoundMs, 10_000]),
    uploadPieceBytes: random.pick([1, 200, DEFAULT_KNOBS.uploadPieceBytes]),
  };
}

const CALLS = [
  '',
  '',
  'heads.',
  'heads.readHead',
  'heads.writeHead',
  'heads.createHead',
  'items.create',
  'objects.create',
  'objects.read',
  'items.read',
  'items.delete',
  'objects.list',
  'quarantine.put',
  'source.',
  'inbox.',
  'suspicions.',
];
const KINDS: readonly CallFaultKind[] = [
  'slow',
  'throttled',
  'request-lost',
  'answer-lost',
  'applied-late',
  'crash',
  'freeze',
  'garbled',
];

/** What may lie in a reader's cache for long. */
const GARBLED_RUNS: CallFault = { kind: 'garbled', call: 'objects.readRange', rate: 0.2 };

function drawUploadFaults(random: Random): CallFault[] {
  if (!random.chance(0.3)) return [];
  const call = random.pick(['upload', 'write', 'complete', 'abandon']);
  return [{ kind: random.pick(KINDS), call: `objects.${call}`, rate: random.pick([0.1, 0.5]) }];
}

function drawCallFaults(random: Random): CallFault[] {
  return Array.from({ length: random.below(6) }, () => {
    const call = random.pick(CALLS);
    const rate = call === '' ? random.pick([0.005, 0.02]) : random.pick([0.02, 0.1, 0.3]);
    return { kind: random.pick(KINDS), call, rate };
  });
}

/**
 * A gap is only looked for after a restore, or after this long without a record (`GAP_CHECK_SILENCE_MS` of task.ts): Lambda takes
 * longer to delete a mapping and to make another.
 */
const MAPPING_PAUSE_MS_MIN = 11_000;

function drawIncidents(random: Random, horizonMs: number, damages: boolean): Incident[] {
  const incidents = Array.from({ length: random.below(12) }, (): Incident => {
    const atMs = random.below(horizonMs);
    const kind = random.pick([
      'checkpoint',
      'recover',
      'redrive',
      'redrive',
      'split',
      'merge',
      'trim',
      'trim',
      'restart',
      'clock-jump',
      'partition',
      'mapping-replaced',
    ] as const);
    switch (kind) {
      case 'clock-jump':
        return {
          atMs,
          kind,
          byMs: drawClockStepMs(random),
          of: random.pick(['environment', 'all']),
        };
      case 'partition': {
        const port = random.pick(['heads', 'items', 'objects', 'source', 'quarantine', '']);
        return { atMs, kind, port, durationMs: random.between(1_000, 120_000) };
      }
      case 'mapping-replaced':
        return {
          atMs,
          kind,
          from: random.pick(['LATEST', 'TRIM_HORIZON']),
          afterMs: random.between(MAPPING_PAUSE_MS_MIN, 120_000),
        };
      default:
        return { atMs, kind };
    }
  });
  const atMs = random.below(horizonMs);
  if (damages) {
    incidents.push({ atMs, kind: 'damage', blobs: random.between(1, 4) });
    // What came back shortly before may be gone with the newest epochs.
    for (let count = 0; count < 3; count++) {
      incidents.push({ atMs: Math.max(0, atMs - random.below(horizonMs / 4)), kind: 'redrive' });
    }
  }
  if (!damages && random.chance(0.03)) incidents.push({ atMs, kind: 'trim-too-much' });
  return incidents.sort((a, b) => a.atMs - b.atMs);
}

/** What a time service mends, what a person sets, what a machine wakes up with. */
const CLOCK_STEPS_MS = [30_000, 600_000, 600_000, 26 * 3_600_000, 5 * 24 * 3_600_000];

function drawClockStepMs(random: Random): number {
  const mostMs = random.pick(CLOCK_STEPS_MS);
  return random.pick([-1, 1]) * random.between(Math.floor(mostMs / 2), mostMs);
}

/**
 * What makes the others harder: a mapping that is replaced at once, with environments that know nothing of the one before; and
 * trims, damage and restarts close to each other and to all else.
 */
function drawHardships(random: Random, horizonMs: number, damages: boolean): Incident[] {
  const incidents: Incident[] = [];
  const atMs = () => random.below(horizonMs);
  if (random.chance(0.3)) {
    const from = random.pick(['LATEST', 'TRIM_HORIZON'] as const);
    const afterMs = random.below(MAPPING_PAUSE_MS_MIN);
    incidents.push({ atMs: atMs(), kind: 'mapping-replaced', from, afterMs, fresh: true });
  }
  if (random.chance(0.3)) {
    for (let count = random.between(1, 5); count > 0; count--) {
      incidents.push({ atMs: atMs(), kind: 'trim' });
    }
  }
  if (!damages || random.chance(0.5)) return incidents;
  for (let count = random.between(1, 3); count > 0; count--) {
    const damagedMs = atMs();
    incidents.push({ atMs: damagedMs, kind: 'damage', blobs: random.between(1, 4) });
    const soon = () => damagedMs + random.between(-2_000, 10_000);
    const kinds = ['trim', 'merge', 'redrive', 'recover', 'checkpoint', 'restart'] as const;
    for (let more = random.below(4); more > 0; more--) {
      incidents.push({ atMs: Math.max(0, soon()), kind: random.pick(kinds) });
    }
  }
  return incidents;
}

/** One plan after another, and often back. */
function drawChanges(random: Random, horizonMs: number): Incident[] {
  if (!random.chance(0.3)) return [];
  return Array.from({ length: random.between(1, 4) }, () => ({
    atMs: random.below(horizonMs),
    kind: 'change-plan' as const,
    plan: random.below(4),
  }));
}
