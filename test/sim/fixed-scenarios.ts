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
  knobs: { replayChunkRecords: 2, flipReserveMs: 3_000, unsavedAgeMsMax: 0 },
  callFaults: [],
  incidents: [{ atMs: 8_600, kind: 'mapping-replaced', from: 'LATEST', afterMs: 14_000 }],
};
