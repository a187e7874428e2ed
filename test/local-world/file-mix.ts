/**
 * Files of a data folder that do not belong together: what is done to them while no process has the folder open, and what a start
 * must say then.
 */
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { hasBirths } from '../../core/checkpoint/beginning.ts';
import { parseHead } from '../../core/checkpoint/head.ts';
import { LostStateFault, StreamMismatchFault } from '../../core/faults.ts';
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
  'no checkpoints',
  'no stream',
  'no objects',
  'an object less',
] as const;
export type Mix = (typeof MIXES)[number];

export interface Copy {
  readonly path: string;
  /** Of each shard, the records that its stream held. */
  readonly logs: readonly (readonly StreamRecord[])[];
  /** Where to go back to, where something had been lost by then. */
  readonly beforeLoss: Copy | null;
}

/** The fault that a start with these files must end with; null if it must not. `life`: as the folder is before. */
export async function expectedFault(
  mix: Mix,
  copy: Copy | null,
  { ports, stores }: LocalLife,
  shards: readonly SimShard[],
): Promise<typeof LostStateFault | typeof StreamMismatchFault | null> {
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

export function mixFiles(mix: Mix, path: string, copy: Copy | null, random: Random): void {
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
  switch (mix) {
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
