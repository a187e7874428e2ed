/**
 * Every bound, with where it comes from: a quota of the service, or our own choice. Cross-checked when loaded.
 */
import { assert } from './assert.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const MINUTE_MS = 60_000;

// Kinesis Data Streams quotas.
/** Largest `PutRecords` request: entries and bytes (data and partition keys together). */
export const PUT_RECORDS_ENTRIES_MAX = 500;
export const PUT_RECORDS_BYTES_MAX = 10 * MIB;
/** Largest record: data and partition key together, by the quota's default of 1 MiB. */
export const RECORD_BYTES_MAX = 1 * MIB;
export const PARTITION_KEY_LENGTH_MAX = 256;
/** Largest `GetRecords` answer. */
export const GET_RECORDS_COUNT_MAX = 10_000;
export const GET_RECORDS_BYTES_MAX = 10 * MIB;
export const SHARD_ITERATOR_AGE_MS_MAX = 5 * MINUTE_MS;
/** Decimal digits of a sequence number. */
export const SEQUENCE_NUMBER_DIGITS_MAX = 56;

// Lambda quotas.
/** Records of one invocation, and the payload that they must fit in once base64-encoded. */
export const BATCH_RECORDS_MAX = 10_000;
export const INVOCATION_PAYLOAD_BYTES_MAX = 6 * MIB;

// S3: of an upload in pieces, each but the last, and how many there may be.
export const UPLOAD_PIECE_BYTES_MIN = 5 * MIB;
export const UPLOAD_PIECES_MAX = 10_000;

// DynamoDB: one write unit is 1 KiB, an item at most 400 KiB.
/** HEAD stays in one write unit. */
export const HEAD_BYTES_MAX = 1 * KIB;
/** Up to here a delta is an item; above it a PUT to S3 is cheaper than write units. Our choice. */
export const DELTA_ITEM_BYTES_MAX = 8 * KIB;

// Our choices.
/** Data of a record that we fold. Larger records are quarantined. */
export const FOLDED_RECORD_BYTES_MAX = RECORD_BYTES_MAX;
/** How far after its arrival the time of a redriven record counts for where what begins later is whole. */
export const REDRIVEN_AHEAD_MS_MAX = 86_400_000;
/** Encoded group key of one entry. A record with a larger one is quarantined. */
export const GROUP_KEY_BYTES_MAX = 4 * KIB;
/** Links that are needed beside the newest base: with as many of them, a commit writes parts of the state anew. */
export const CHAIN_LENGTH_MAX = 64;
/** Epochs that a chain leads over, however few its links: a fallback reads their deltas, and a slice keeps them. */
export const CHAIN_EPOCHS_MAX = 1_024;
/** Deltas that are merged into one, merged ones of as many into the next, and bytes of one. */
export const MERGE_FAN_IN = 8;
export const MERGED_BYTES_MAX = 1 * MIB;
/** A chain of fewer bytes is not compacted for its weight. */
export const CHAIN_BYTES_MIN_TO_COMPACT = 1 * MIB;
/** A part of the open state that would be larger is written as several. */
export const PART_BYTES_MAX = 512 * KIB;
/** Bytes of parts that one commit writes anew, about: more only where its own delta has more than a third of it. */
export const PART_BYTES_MIN_TO_REWRITE = 384 * KIB;
/** Parts of dedupe ids that are less than half as large as a part may be: of more of them, neighbours are merged. */
export const ID_PARTS_MAX = 48;
/** Closing entries that one base drains into its run: more only where so many wait that draining would not keep up. As many are a reason for a base. */
export const DRAIN_BYTES_MIN = 512 * KIB;
/** Records that a replay reads and folds at a time: one chunk. */
export const REPLAY_CHUNK_RECORDS = 10_000;
/** Memory of uncommitted changes from which on a replay waits for the commit that is under way before it folds more. */
export const REPLAY_GATHERED_BYTES_MAX = 8 * MIB;
/** Times an invocation tries to write HEAD before it gives the batch back. */
export const HEAD_WRITE_ATTEMPTS_MAX = 8;
/** Time that an invocation keeps back for its last commit. */
export const COMMIT_RESERVE_MS = 5_000;
/** Longest invocation (Lambda's own limit) and longest time that a reader may hold a snapshot (`next` expires then). */
export const INVOCATION_MS_MAX = 15 * MINUTE_MS;
export const SNAPSHOT_AGE_MS_MAX = 15 * MINUTE_MS;
/** What no retained epoch reaches is deleted once it is older than this. */
export const RETENTION_GRACE_MS = 60 * MINUTE_MS;
/**
 * Age of what is folded and in no checkpoint, from which on an invocation completes an epoch rather than answer for its
 * batch alone. 0: every invocation completes one.
 */
export const UNSAVED_AGE_MS_MAX = 0;
/** How long after a change of plan a rollback goes on from where the plan before was left. */
export const ROLLBACK_GRACE_MS = 24 * 60 * MINUTE_MS;
/** Memory of unsaved changes from which on an invocation completes an epoch. */
export const UNSAVED_BYTES_MAX = 16 * MIB;
/** A recovery that completed no epoch for so long has lost its owner: the next invocation takes over. */
export const RECOVERY_LEASE_MS = 60_000;
/** Runs of one level that a compaction merges into one of the next. */
export const RUN_FAN_IN = 8;
/** Runs that a commit merges into the one that it writes, together with that one: all that wait for the commit wait for it. */
export const RUN_BYTES_MAX_TO_MERGE_IN_COMMIT = 4 * MIB;
/** Runs that ticks merge, together: what one environment can go through between two of them. Larger ones stay as they are. */
export const RUN_BYTES_MAX_TO_MERGE = 256 * MIB;
/** Time that a merge goes on before batches go between, where they wait for it. */
export const RUN_MERGE_ROUND_MS = 100;
/** Bytes of one block of a run, about: what a point read fetches. */
export const RUN_BLOCK_BYTES = 16 * KIB;
/** Bytes of a run that a merge reads at once, of each of the runs that it merges. */
export const RUN_AHEAD_BYTES = 512 * KIB;
/** Pieces in which a large blob is written: one that has less is written at once. */
export const UPLOAD_PIECE_BYTES = 8 * MIB;
/** Memories of slices that one environment holds together; the least recently used goes. */
export const ENVIRONMENT_STATE_BYTES_MAX = 256 * MIB;
/** Views of a pipeline, aggregates and group fields of a view. */
export const VIEWS_MAX = 64;
export const AGGREGATES_MAX = 32;
export const GROUP_FIELDS_MAX = 8;
/** Ranks that one quantile answers. */
export const QUANTILE_RANKS_MAX = 16;
/** Characters of a pipeline's, view's or aggregate's name, of a stream's name (Kinesis), of a category. */
export const NAME_LENGTH_MAX = 64;
export const STREAM_NAME_LENGTH_MAX = 128;
export const CATEGORY_LENGTH_MAX = 256;
/** Characters of a field path, and names in it. */
export const FIELD_PATH_LENGTH_MAX = 512;
export const FIELD_PATH_DEPTH_MAX = 16;
/** Longest duration that a pipeline file may name: windows, lateness, skew, dedupe. */
export const DURATION_MS_MAX = 3650 * 24 * 60 * MINUTE_MS;
/**
 * Event times from the year 0000 up to, not including, 10000: what ISO 8601 writes with four digits. Microseconds taken
 * for milliseconds lie beyond; folding them would move the watermark thousands of years ahead.
 */
export const EVENT_TIME_MS_MIN = -62_167_219_200_000;
export const EVENT_TIME_MS_MAX = 253_402_300_799_999;
/** Rows of one answer: at most, and unless asked otherwise. */
export const QUERY_LIMIT_MAX = 10_000;
export const QUERY_LIMIT_DEFAULT = 100;
/** JSON of one answer's rows as it travels inside JSON, about: a page ends early rather than exceed what Lambda answers (6 MB). */
export const ANSWER_BYTES_MAX = 4 * MIB;
/** Memory for blocks of runs that were read lately. */
export const RUN_CACHE_BYTES_MAX = 32 * MIB;
/** Memory for parts that were read lately. */
export const PART_CACHE_BYTES_MAX = 64 * MIB;
/** Neighbouring parts of one pack are read together, up to about so many bytes. */
export const PART_READ_BYTES_MAX = 8 * MIB;
/** Memory that a reader keeps from question to question, over all slices: images, those that a `next` asked for too, their indexes, and parts. */
export const READER_BYTES_MAX = 256 * MIB;
/** Characters of a `next`: it travels in an address, and 16 KiB of headers is what Node takes. */
export const TOKEN_LENGTH_MAX = 12 * KIB;
/** Age of the list of shards by which a question judges what is closed: ListShards has a quota, and shards come rarely. */
export const SHARD_LIST_AGE_MS_MAX = 10_000;
/** Records that one query may wait for (`after`). */
export const AFTER_COUNT_MAX = 64;
/** Records of one answer of the quarantine listing, and bytes of their data, which end it early. */
export const QUARANTINE_LIMIT_MAX = 1_000;
export const QUARANTINE_LIMIT_DEFAULT = 100;
export const QUARANTINE_ANSWER_BYTES_MAX = 2 * MIB;
/** Records that one summary counts: it reads all that is known of them but their bytes. */
export const QUARANTINE_SUMMARY_RECORDS_MAX = 10_000;
/** Age of the oldest record that a recovery has yet to replay, up to which deliveries to others are answered for. */
export const RECOVERY_BACKLOG_MS_MAX = 60 * MINUTE_MS;
/** Owners that die over one redrive request: its records may kill the owner that folds them. */
export const REDRIVE_BEGINNINGS_MAX = 10;
/** Time that a redrive folds before it commits and lets batches go between; after each race that it lost, half of that. */
export const REDRIVE_ROUND_MS_MAX = 250;
/** Blocks of runs that a redrive keeps between its rounds. */
export const REDRIVE_CACHE_BYTES_MAX = 8 * MIB;
/** Longest time that deliveries hold back for an invocation that keeps losing races for HEAD. */
export const HOLD_MS_MAX = 2_000;
/** Records that one call purges. */
export const PURGE_IDS_MAX = 10_000;
/** Records that one call redrives, and ids of one request in an inbox. */
export const REDRIVE_IDS_MAX = 10_000;
export const REDRIVE_REQUEST_IDS_MAX = 100;

assert(
  RETENTION_GRACE_MS > INVOCATION_MS_MAX + SNAPSHOT_AGE_MS_MAX,
  'grace-outlives-writers-and-readers',
);
assert(COMMIT_RESERVE_MS < INVOCATION_MS_MAX, 'reserve-fits-invocation');
assert(UPLOAD_PIECE_BYTES >= UPLOAD_PIECE_BYTES_MIN, 'pieces-of-an-upload-are-taken');
assert(BATCH_RECORDS_MAX <= GET_RECORDS_COUNT_MAX, 'batch-fits-one-read');
