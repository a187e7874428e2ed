/**
 * The bounds that may be tuned, or drawn at random by a simulation, without changing what is computed. Everything else is
 * fixed in limits.ts.
 */
import {
  CHAIN_BYTES_MIN_TO_COMPACT,
  CHAIN_LENGTH_MAX,
  COMMIT_RESERVE_MS,
  DRAIN_BYTES_MIN,
  HEAD_WRITE_ATTEMPTS_MAX,
  ID_PARTS_MAX,
  MERGE_FAN_IN,
  PART_BYTES_MAX,
  PART_BYTES_MIN_TO_REWRITE,
  RECOVERY_BACKLOG_MS_MAX,
  RECOVERY_LEASE_MS,
  REPLAY_CHUNK_RECORDS,
  RETENTION_GRACE_MS,
  ROLLBACK_GRACE_MS,
  RUN_BLOCK_BYTES,
  RUN_BYTES_MAX_TO_MERGE,
  RUN_BYTES_MAX_TO_MERGE_IN_COMMIT,
  RUN_FAN_IN,
  RUN_MERGE_ROUND_MS,
  UNSAVED_AGE_MS_MAX,
  UPLOAD_PIECE_BYTES,
} from './limits.ts';

export interface Knobs {
  readonly chainLengthMax: number;
  readonly chainBytesMinToCompact: number;
  readonly mergeFanIn: number;
  readonly partBytesMax: number;
  readonly partBytesMinToRewrite: number;
  readonly idPartsMax: number;
  readonly drainBytesMin: number;
  readonly runFanIn: number;
  readonly runBlockBytes: number;
  readonly runBytesMaxToMergeInCommit: number;
  readonly runBytesMaxToMerge: number;
  readonly runMergeRoundMs: number;
  readonly uploadPieceBytes: number;
  readonly retentionGraceMs: number;
  readonly replayChunkRecords: number;
  readonly commitReserveMs: number;
  readonly headWriteAttemptsMax: number;
  readonly unsavedAgeMsMax: number;
  readonly rollbackGraceMs: number;
  readonly recoveryLeaseMs: number;
  readonly recoveryBacklogMsMax: number;
}

export const DEFAULT_KNOBS: Knobs = {
  chainLengthMax: CHAIN_LENGTH_MAX,
  chainBytesMinToCompact: CHAIN_BYTES_MIN_TO_COMPACT,
  mergeFanIn: MERGE_FAN_IN,
  partBytesMax: PART_BYTES_MAX,
  partBytesMinToRewrite: PART_BYTES_MIN_TO_REWRITE,
  idPartsMax: ID_PARTS_MAX,
  drainBytesMin: DRAIN_BYTES_MIN,
  runFanIn: RUN_FAN_IN,
  runBlockBytes: RUN_BLOCK_BYTES,
  runBytesMaxToMergeInCommit: RUN_BYTES_MAX_TO_MERGE_IN_COMMIT,
  runBytesMaxToMerge: RUN_BYTES_MAX_TO_MERGE,
  runMergeRoundMs: RUN_MERGE_ROUND_MS,
  uploadPieceBytes: UPLOAD_PIECE_BYTES,
  retentionGraceMs: RETENTION_GRACE_MS,
  replayChunkRecords: REPLAY_CHUNK_RECORDS,
  commitReserveMs: COMMIT_RESERVE_MS,
  headWriteAttemptsMax: HEAD_WRITE_ATTEMPTS_MAX,
  unsavedAgeMsMax: UNSAVED_AGE_MS_MAX,
  rollbackGraceMs: ROLLBACK_GRACE_MS,
  recoveryLeaseMs: RECOVERY_LEASE_MS,
  recoveryBacklogMsMax: RECOVERY_BACKLOG_MS_MAX,
};
