/**
 * Files of a data folder that do not belong together: what is done to them while no process has the folder open, and what a start
 * must say then.
 */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { hasBirths } from '../../core/checkpoint/beginning.ts';
import { parseHead } from '../../core/checkpoint/head.ts';
import { CorruptStateFault, LostStateFault, StreamMismatchFault } from '../../core/faults.ts';
import type { StreamRecord } from '../../core/ports.ts';
import { comparePositions, START } from '../../core/position.ts';
import type { Random } from '../../simulation/random.ts';
import type { SimShard } from '../../simulation/sim-stream.ts';
import type { LocalLife } from './local-life.ts';

/** What is done to the files of a folder while nobody has it open. */
export const MIXES = [
  'older stream',
  'older checkpoints',
  'older folder',
  'torn stream',
  'torn checkpoints',
  'no checkpoints',
  'no stream',
  'no objects',
  'an object less',
] as const;
export type Mix = (typeof MIXES)[number];

export interface Copy {
  readonly path: string;
  /** Counts how often files were put back by then: numbers of commits tell moments of one history apart, not histories. */
  readonly history: number;
  /** Of each shard, the records that its stream held. */
  readonly logs: readonly (readonly StreamRecord[])[];
  /** Where to go back to, where something had been lost by then. */
  readonly beforeLoss: Copy | null;
}

/**
 * True if a start must not, or cannot, be made with this mix. What is torn must be so: the file that was copied lacks commits
 * that went into the file of now, whose log goes on behind them.
 */
export function isPointless(mix: Mix, copy: Copy | null, now: Copy): boolean {
  if (!isTorn(mix)) return copy === null && mix.startsWith('older');
  const name = fileOf(mix);
  const log = statSync(join(now.path, `${name}-wal`), { throwIfNoEntry: false });
  if (copy === null || copy.history !== now.history || (log?.size ?? 0) === 0) return true;
  return readFileSync(join(copy.path, name)).equals(readFileSync(join(now.path, name)));
}

/** The fault that a start with these files must end with; null if it must not. `life`: as the folder is before. */
export async function expectedFault(
  mix: Mix,
  copy: Copy | null,
  { ports, stores }: LocalLife,
  shards: readonly SimShard[],
): Promise<typeof LostStateFault | typeof StreamMismatchFault | typeof CorruptStateFault | null> {
  if (isTorn(mix)) return CorruptStateFault;
  // Without birth records, and with every record in the stream, it is a beginning.
  if (mix === 'no checkpoints') return (await hasBirths(stores.objects)) ? LostStateFault : null;
  if (mix === 'no stream') return StreamMismatchFault;
  if (mix !== 'older stream' || copy === null) return null;
  const heads = (await ports.heads.listHeads()).map(parseHead);
  const isBehind = heads.some(({ shardId, delivered }) => {
    if (comparePositions(delivered, START) === 0) return false;
    const index = shards.findIndex(({ id }) => id === shardId);
    return !copy.logs[index]?.some((record) => comparePositions(record, delivered) === 0);
  });
  return isBehind ? StreamMismatchFault : null;
}

/** `now`: a copy of the folder while it was in use, at last. */
export function mixFiles(
  mix: Mix,
  path: string,
  { copy, now }: { copy: Copy | null; now: Copy },
  random: Random,
): void {
  const remove = (name: string) => {
    for (const end of ['', '-wal', '-shm']) rmSync(join(path, name + end), { force: true });
  };
  const put = (name: string) => {
    remove(name);
    for (const end of ['', '-wal']) {
      const from = join((copy as Copy).path, name + end);
      if (existsSync(from)) cpSync(from, join(path, name + end));
    }
  };
  const tear = (name: string) => {
    put(name);
    cpSync(join(now.path, `${name}-wal`), join(path, `${name}-wal`));
  };
  switch (mix) {
    case 'torn stream':
    case 'torn checkpoints':
      tear(fileOf(mix));
      return;
    case 'older stream':
      put('stream.db');
      return;
    case 'older checkpoints':
      put('checkpoint.db');
      return;
    case 'older folder':
      rmSync(path, { recursive: true });
      cpSync((copy as Copy).path, path, { recursive: true });
      return;
    case 'no checkpoints':
      remove('checkpoint.db');
      return;
    case 'no stream':
      remove('stream.db');
      return;
    case 'no objects':
      rmSync(join(path, 'objects'), { recursive: true });
      return;
    case 'an object less': {
      const files = readdirSync(join(path, 'objects'), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !entry.parentPath.includes('births'))
        .map((entry) => join(entry.parentPath, entry.name))
        .sort();
      if (files.length > 0) rmSync(random.pick(files));
    }
  }
}

function isTorn(mix: Mix): mix is 'torn stream' | 'torn checkpoints' {
  return mix === 'torn stream' || mix === 'torn checkpoints';
}

function fileOf(mix: 'torn stream' | 'torn checkpoints'): string {
  return mix === 'torn stream' ? 'stream.db' : 'checkpoint.db';
}
