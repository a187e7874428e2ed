/**
 * Faults of a data folder's files, which the local world must find: what does not belong together is used all the same.
 */
import { type Mutant, mutant } from './mutant.ts';

const local = (...args: Parameters<typeof mutant>): Mutant => ({
  ...mutant(...args),
  world: 'local',
});

export const LOCAL_MUTANTS: readonly Mutant[] = [
  local(
    'HEAD is believed without a look at the stream',
    'older stream was not refused',
    'core/task/stream-proof.ts',
    'const answer = await source.readAfter(shardId, delivered, 1);',
    'const answer = null as unknown as SourceRead;\n  if (answer === null) return null;',
  ),
  local(
    'a file and a log of different moments are taken for one',
    'torn stream was not refused|torn checkpoints was not refused|torn stream: |torn checkpoints: ',
    'adapters/local/commit-number.ts',
    'if (log.first > after.number + 1) {',
    'if (log.first < 0) {',
  ),
  {
    name: 'the checkpoints of another stream are taken',
    world: 'local',
    foundAs: ['no stream was not refused'],
    edits: [
      {
        file: 'runtime/folder-stores.ts',
        find: 'if (heads.length > 0 && !hasStream(streamPath))',
        replace: 'if (heads.length < 0)',
      },
      {
        file: 'core/task/stream-proof.ts',
        find: 'if (streamId !== head.streamId) throw',
        replace: "if (streamId === 'none') throw",
      },
    ],
  },
  {
    name: 'a store that lost its slices is taken for a new one',
    world: 'local',
    foundAs: ['no checkpoints was not refused'],
    edits: [
      {
        file: 'runtime/folder-stores.ts',
        find: '(await hasBirths(objects))',
        replace: 'objects === null',
      },
      {
        file: 'core/task/plan-activation.ts',
        find: 'if (await hasBirths(objects))',
        replace: 'if (objects === null)',
      },
      {
        file: 'core/checkpoint/beginning.ts',
        find: 'if ((await ports.objects.read(birthKey(sliceId))) !== null) {',
        replace: "if (sliceId === '') {",
      },
    ],
  },
];
