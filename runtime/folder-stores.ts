/**
 * The stores of a data folder, opened together: the stream, the checkpoints and the objects must be of one pipeline's life.
 * Files of different ages are refused before anything is made or written in their place.
 *
 *   checkpoint.db ─ HEADs without a stream: mismatch │ no HEADs beside objects, or beside a stream that was trimmed: lost
 *   stream.db     ─ HEAD's delivered is no record of it, there or trimmed: mismatch
 */
import { existsSync } from 'node:fs';
import { CheckpointDatabase } from '../adapters/local/store/checkpoint-database.ts';
import { FileObjectStore } from '../adapters/local/store/file-object-store.ts';
import { LocalCheckpointStore } from '../adapters/local/store/local-checkpoint-store.ts';
import { LocalRecordSource } from '../adapters/local/stream/local-record-source.ts';
import { LocalStream, type LocalStreamOptions } from '../adapters/local/stream/local-stream.ts';
import { hasStream } from '../adapters/local/stream/stream-database.ts';
import { hasBirths, registryIsLost } from '../core/checkpoint/beginning.ts';
import { type Head, parseHead } from '../core/checkpoint/head.ts';
import { LostStateFault, StreamMismatchFault } from '../core/faults.ts';
import { proveDelivered } from '../core/task/stream-proof.ts';

export interface FolderPaths {
  readonly streamPath: string;
  readonly checkpointPath: string;
  readonly objectsPath: string;
}

export interface FolderStores {
  readonly stream: LocalStream;
  readonly database: CheckpointDatabase;
  readonly objects: FileObjectStore;
}

/**
 * Opens the stores for the process that holds the folder, and makes what a new folder lacks. Throws `StreamMismatchFault` or
 * `LostStateFault` where they do not belong together, and what each of them throws.
 */
export async function openFolderStores(
  paths: FolderPaths,
  options: Omit<LocalStreamOptions, 'path'>,
): Promise<FolderStores> {
  const { streamPath, checkpointPath, objectsPath } = paths;
  const objects = await FileObjectStore.open(objectsPath);
  if (!existsSync(checkpointPath) && (await hasBirths(objects))) {
    throw registryIsLost('birth records of slices among its objects');
  }
  const database = CheckpointDatabase.open(checkpointPath);
  let stream: LocalStream | null = null;
  try {
    const heads = (await new LocalCheckpointStore(database).listHeads()).map(parseHead);
    if (heads.length > 0 && !hasStream(streamPath)) throw streamIsMissing(paths);
    stream = LocalStream.open({ ...options, path: streamPath });
    if (heads.length === 0) refuseTrimmed(stream, paths);
    await proveAll(heads, streamPath);
    return { stream, database, objects };
  } catch (error) {
    stream?.close();
    database.close();
    throw error;
  }
}

async function proveAll(heads: readonly Head[], streamPath: string): Promise<void> {
  const source = LocalRecordSource.open(streamPath);
  try {
    for (const head of heads) await proveDelivered(head, source, source);
  } finally {
    source.close();
  }
}

/** Records that are gone were folded by slices that are gone. */
function refuseTrimmed(stream: LocalStream, { streamPath, checkpointPath }: FolderPaths): void {
  const trimmed = stream.shards().find(({ shardId }) => {
    const { ordinal, count } = stream.tip(shardId);
    return ordinal > count;
  });
  if (trimmed === undefined) return;
  throw new LostStateFault(
    `${checkpointPath} has no slices, and ${streamPath} no longer has the first records of ${trimmed.shardId}: what was folded of them is lost`,
    {
      hint: 'put back checkpoint.db and objects/ of a backup; to begin again on purpose, use an empty data folder',
    },
  );
}

function streamIsMissing({ streamPath, checkpointPath }: FolderPaths): StreamMismatchFault {
  return new StreamMismatchFault(
    `${checkpointPath} holds checkpoints of a stream, and ${streamPath} is missing or empty`,
    {
      hint: 'put back the stream.db, with its -wal file, that belongs to them, or a whole backup; to begin again on purpose, use an empty data folder',
    },
  );
}
