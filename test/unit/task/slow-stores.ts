/** Stores that take a while to write, so that something else happens meanwhile. */
import type { BlobStore } from '../../../core/ports.ts';
import type { TaskPorts } from '../../../core/task/slice-task.ts';
import { overriding, type TaskWorld } from './task-fixture.ts';

/** What waits in this process has its turn. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

export async function turns(count: number): Promise<void> {
  for (let index = 0; index < count; index++) await turn();
}

type Slow = <T>(write: () => Promise<T>) => Promise<T>;

/** The world's stores, whose writes of blobs and of HEAD go through `slow`; `beforeHead` comes before each of the latter. */
export function slowStores(
  world: TaskWorld,
  slow: Slow,
  beforeHead: () => Promise<unknown> = async () => {},
): Pick<TaskPorts, 'blobs' | 'heads'> {
  const create =
    (store: BlobStore): BlobStore['create'] =>
    (key, bytes) =>
      slow(() => store.create(key, bytes));
  const { items, objects } = world.blobs;
  return {
    blobs: {
      items: overriding(items, { create: create(items) }),
      objects: overriding(objects, { create: create(objects) }),
    },
    heads: world.headsThatWrite(async (item, revision, hold) => {
      await beforeHead();
      return slow(() => world.heads.writeHead(item, revision, hold));
    }),
  };
}
