/**
 * Scenarios that a seed of the simulation found and that drawn ones seldom have, as what they fix of a drawn scenario: seeds
 * change their meaning with the simulation, these do not.
 */
import type { Scenario } from '../../simulation/scenario.ts';

/**
 * Seed 31004426: a mapping is replaced at the stream's end, what it leaves out is closed in many small chunks by environments
 * that run out of time, while others are warm since before.
 */
export const GAP_IN_PARTS: Partial<Scenario> = {
  shards: 1,
  environments: 4,
  mappings: 1,
  records: 120,
  paceMs: 300,
  burstRate: 0.3,
  batchRecordsMax: 20,
  batchWindowMs: 0,
  functionTimeoutMs: 8_000,
  delayMsMax: 100,
  clockSkewMsMax: 0,
  emptyReadRate: 0,
  stateBytesMax: 1_000_000_000,
  knobs: { replayChunkRecords: 2, commitReserveMs: 3_000, unsavedAgeMsMax: 0 },
  callFaults: [],
  incidents: [{ atMs: 8_600, kind: 'mapping-replaced', from: 'LATEST', afterMs: 14_000 }],
};

const SMALL: Partial<Scenario> = {
  shards: 1,
  environments: 3,
  mappings: 1,
  records: 120,
  paceMs: 300,
  burstRate: 0.3,
  batchRecordsMax: 20,
  batchWindowMs: 0,
  functionTimeoutMs: 15_000,
  delayMsMax: 20,
  zombieRate: 0,
  clockSkewMsMax: 0,
  stateBytesMax: 1_000_000_000,
  foldMs: 0,
  baseMs: 0,
  harmful: [],
  callFaults: [],
};

/** A mapping leaves out a few seconds, and whoever gets its first batch has to go back to an older epoch first. */
export const GAP_AFTER_REWIND: Partial<Scenario> = {
  ...SMALL,
  trimsForFallback: true,
  knobs: { chainLengthMax: 5, unsavedAgeMsMax: 0 },
  incidents: [
    { atMs: 15_000, kind: 'damage', blobs: 6 },
    { atMs: 15_010, kind: 'mapping-replaced', from: 'LATEST', afterMs: 4_000, fresh: true },
  ],
};

/**
 * A mapping leaves out a few seconds, and whoever has read them loses its race to a base, whose owner has just replayed what no
 * checkpoint held.
 */
export const GAP_IN_A_LOST_RACE: Partial<Scenario> = {
  ...SMALL,
  delayMsMax: 100,
  tickEveryMs: 300_000,
  knobs: { unsavedAgeMsMax: 30_000 },
  incidents: [
    { atMs: 9_000, kind: 'mapping-replaced', from: 'LATEST', afterMs: 3_000, fresh: true },
    ...[12_010, 12_050, 12_100, 12_160].map((atMs) => ({ atMs, kind: 'checkpoint' as const })),
  ],
};

/** Recoveries in many small chunks, by environments that run out of time: their generations travel, and one fences the other off. */
export const RECOVERY_IN_STEPS: Partial<Scenario> = {
  ...SMALL,
  environments: 4,
  records: 150,
  burstRate: 0,
  functionTimeoutMs: 8_000,
  delayMsMax: 100,
  tickEveryMs: 300_000,
  readers: 0,
  knobs: {
    replayChunkRecords: 2,
    commitReserveMs: 6_500,
    unsavedAgeMsMax: 600_000,
    recoveryLeaseMs: 60_000,
  },
  callFaults: [],
  incidents: [20_000, 20_600, 30_000, 30_900].map((atMs) => ({ atMs, kind: 'recover' })),
};

/** Recoveries in small chunks whose commits lose races to deliveries, which move HEAD and no epoch. */
export const RECOVERY_UNDER_DELIVERIES: Partial<Scenario> = {
  ...SMALL,
  environments: 4,
  records: 200,
  paceMs: 60,
  batchRecordsMax: 3,
  functionTimeoutMs: 30_000,
  delayMsMax: 30,
  tickEveryMs: 300_000,
  readers: 0,
  knobs: { replayChunkRecords: 4, unsavedAgeMsMax: 600_000, recoveryLeaseMs: 60_000 },
  callFaults: [],
  incidents: [4_000, 7_000, 10_000].map((atMs) => ({ atMs, kind: 'recover' })),
};

/** Owners die while they make the base of a recovery, and batches go on coming. */
export const RECOVERY_WITHOUT_OWNER: Partial<Scenario> = {
  ...SMALL,
  environments: 2,
  records: 200,
  functionTimeoutMs: 3_000,
  tickEveryMs: 5_000,
  knobs: { recoveryBacklogMsMax: 10_000, recoveryLeaseMs: 60_000, unsavedAgeMsMax: 0 },
  callFaults: [{ kind: 'crash', call: 'objects.create', rate: 0.8 }],
  incidents: [5_000, 6_000, 7_000].map((atMs) => ({ atMs, kind: 'recover' })),
};

/** Many small blocks, of which readers get some with a wrong bit. */
export const GARBLED_BLOCKS: Partial<Scenario> = {
  ...SMALL,
  readers: 2,
  records: 150,
  knobs: { chainLengthMax: 5, runBlockBytes: 60 },
  callFaults: [{ kind: 'garbled', call: 'objects.readRange', rate: 0.1 }],
  incidents: [],
};

/** A mapping leaves out more than ten seconds, and environments stay warm meanwhile. */
export const GAP_AFTER_SILENCE: Partial<Scenario> = {
  ...SMALL,
  records: 150,
  knobs: { unsavedAgeMsMax: 0 },
  incidents: [{ atMs: 9_000, kind: 'mapping-replaced', from: 'LATEST', afterMs: 14_000 }],
};

/** Records that kill are quarantined soon, and asked for again and again. */
export const REDRIVES_THAT_KILL: Partial<Scenario> = {
  ...SMALL,
  records: 40,
  resendRate: 0,
  tickEveryMs: 5_000,
  knobs: { unsavedAgeMsMax: 0 },
  harmful: [2, 4, 6, 8].map((record) => ({ record, harm: 'kills' })),
  incidents: Array.from({ length: 8 }, (_, index) => ({
    atMs: 9_000 + 300 * index,
    kind: 'redrive',
  })),
};

/** Owners come to what no checkpoint holds, and directly behind it to records that kill. */
export const KILLERS_BEHIND_A_REPLAY: Partial<Scenario> = {
  ...SMALL,
  mappings: 2,
  records: 60,
  batchRecordsMax: 3,
  knobs: { unsavedAgeMsMax: 30_000 },
  harmful: [8, 15, 22, 29, 36, 43, 50].map((record) => ({ record, harm: 'kills' })),
  incidents: [],
};

/** Records wait for a tick that saves them, and ticks are seldom; what they redrive kills. */
export const REDRIVES_BEFORE_A_SAVE: Partial<Scenario> = {
  ...SMALL,
  records: 60,
  paceMs: 20_000,
  batchRecordsMax: 2,
  tickEveryMs: 600_000,
  resendRate: 0,
  knobs: { unsavedAgeMsMax: 30_000 },
  harmful: [2, 4, 6, 8].map((record) => ({ record, harm: 'kills' })),
  incidents: Array.from({ length: 8 }, (_, index) => ({
    atMs: 900_000 + 40_000 * index,
    kind: 'redrive',
  })),
};

/** Late records come back, and their producers send them once more. */
export const REDRIVES_AND_AGAIN: Partial<Scenario> = {
  ...SMALL,
  records: 200,
  resendRate: 1,
  tickEveryMs: 2_000,
  knobs: { unsavedAgeMsMax: 0 },
  incidents: Array.from({ length: 12 }, (_, index) => {
    return { atMs: 15_000 + 3_000 * index, kind: 'redrive' } as const;
  }),
};

const BASES: Partial<Scenario> = {
  ...SMALL,
  records: 200,
  paceMs: 1_000,
  batchRecordsMax: 5,
  trimsForFallback: true,
};
const OFTEN = { chainLengthMax: 2, runFanIn: 2, retentionGraceMs: 60_000, unsavedAgeMsMax: 0 };

/** Bases and merges of runs all the time, and readers who take theirs between two pages. */
export const SLOW_READERS: Partial<Scenario> = {
  ...BASES,
  readers: 3,
  questionEveryMs: 2_000,
  knobs: { ...OFTEN, retentionGraceMs: 600_000 },
  incidents: [],
};

/** Another plan, and back when what it goes on from would have been collected, were it not kept. */
export const ROLLBACK_AFTER_BASES: Partial<Scenario> = {
  ...BASES,
  knobs: OFTEN,
  incidents: [
    { atMs: 20_000, kind: 'change-plan', plan: 1 },
    { atMs: 190_000, kind: 'change-plan', plan: 0 },
  ],
};

/** A view goes, and comes back when its plan is one like any other; readers ask all the time. */
export const VIEW_THAT_BEGINS_AGAIN: Partial<Scenario> = {
  ...BASES,
  readers: 3,
  questionEveryMs: 1_000,
  knobs: { ...OFTEN, rollbackGraceMs: 10_000 },
  incidents: [
    { atMs: 60_000, kind: 'change-plan', plan: 1 },
    { atMs: 90_000, kind: 'change-plan', plan: 0 },
  ],
};

/** Deliveries all the time, and what takes longer: bases, recoveries and redrives, some of them asked for at once. */
export const CONTENTION: Partial<Scenario> = {
  ...SMALL,
  environments: 4,
  records: 200,
  paceMs: 100,
  burstRate: 0,
  batchRecordsMax: 1,
  tickEveryMs: 4_000,
  baseMs: 400,
  knobs: { unsavedAgeMsMax: 0 },
  incidents: [2_000, 6_000, 10_000, 14_000, 18_000].flatMap((atMs) => [
    { atMs, kind: 'redrive' as const },
    { atMs: atMs + 10, kind: 'checkpoint' as const },
    { atMs: atMs + 60, kind: 'checkpoint' as const },
    { atMs: atMs + 2_000, kind: 'recover' as const },
  ]),
};

/** So slow that ids which are used again are no longer known by then. */
export const IDS_USED_AGAIN: Partial<Scenario> = {
  ...SMALL,
  records: 300,
  paceMs: 20_000,
  tickEveryMs: 300_000,
  knobs: { unsavedAgeMsMax: 0 },
  incidents: [],
};

/** Ids are known for a third of the time, then for all of it again, by plans that are no rollbacks; producers send again. */
export const IDS_THAT_EXPIRED: Partial<Scenario> = {
  ...SMALL,
  records: 300,
  paceMs: 2_000,
  burstRate: 0,
  batchRecordsMax: 5,
  trimsForFallback: true,
  knobs: { rollbackGraceMs: 1_000, unsavedAgeMsMax: 0 },
  incidents: Array.from({ length: 9 }, (_, index) => ({
    atMs: 60_000 + 60_000 * index,
    kind: 'change-plan' as const,
    plan: index % 2 === 0 ? 2 : 0,
  })),
};

/** Parts of an entry or two, of which a commit writes one or two anew, and environments that restore all the time. */
export const SMALL_PARTS: Partial<Scenario> = {
  ...SMALL,
  readers: 1,
  stateBytesMax: 0,
  auditEvery: 1,
  knobs: {
    chainLengthMax: 3,
    partBytesMax: 100,
    partBytesMinToRewrite: 60,
    drainBytesMin: 60,
    runFanIn: 3,
    unsavedAgeMsMax: 0,
  },
  incidents: [],
};

/** Long chains, with links that span some or many epochs. */
export const MERGED_DELTAS: Partial<Scenario> = {
  ...SMALL_PARTS,
  knobs: { ...SMALL_PARTS.knobs, chainLengthMax: 20, mergeFanIn: 2 },
};

/** The same for so long that retention deletes what parts replaced. */
export const PARTS_AND_RETENTION: Partial<Scenario> = {
  ...SMALL_PARTS,
  records: 200,
  paceMs: 1_500,
  batchRecordsMax: 5,
  trimsForFallback: true,
  knobs: { ...SMALL_PARTS.knobs, chainLengthMax: 5, retentionGraceMs: 60_000 },
};

/** Ids expire all the time, in parts of a few of them that are merged all the time, and producers send again or use ids again. */
export const IDS_IN_PARTS: Partial<Scenario> = {
  ...SMALL_PARTS,
  records: 300,
  paceMs: 2_000,
  batchRecordsMax: 5,
  trimsForFallback: true,
  resendRate: 0.5,
  knobs: { ...SMALL_PARTS.knobs, partBytesMinToRewrite: 300, idPartsMax: 2 },
};

/** Every second epoch writes a run, and no commit merges any: ticks do, by several environments that begin the same merges. */
export const RUNS_MERGED_BY_TICKS: Partial<Scenario> = {
  ...SMALL,
  readers: 2,
  auditEvery: 1,
  tickEveryMs: 1_500,
  batchRecordsMax: 5,
  knobs: {
    chainLengthMax: 2,
    unsavedAgeMsMax: 0,
    runFanIn: 2,
    runBytesMaxToMergeInCommit: 0,
    runMergeRoundMs: 10_000,
    uploadPieceBytes: 200,
  },
  incidents: [],
};

/**
 * Batches that lose races to smaller ones, with ids that come again before a record far ahead in the same batch: under the second
 * plan such a record is further ahead than ids are kept.
 */
export const FAR_AHEAD_IN_A_LOST_RACE: Partial<Scenario> = {
  ...SMALL,
  mappings: 2,
  environments: 4,
  records: 200,
  paceMs: 2_000,
  burstRate: 0.5,
  producerRetryRate: 0.3,
  batchRecordsMax: 20,
  batchWindowMs: 5_000,
  redeliveryRate: 0.4,
  delayMsMax: 200,
  tickEveryMs: 5_000,
  knobs: { unsavedAgeMsMax: 0 },
  incidents: [{ atMs: 1, kind: 'change-plan', plan: 2 }],
};
