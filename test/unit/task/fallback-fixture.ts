/** Histories of a slice to be damaged: epochs of 5 records each, with a base at each third. */
import { expect } from 'vitest';
import type { Head } from '../../../core/checkpoint/head.ts';
import { comparePositions } from '../../../core/position.ts';
import type { SliceTask } from '../../../core/task/slice-task.ts';
import { PLENTY, TaskWorld } from './task-fixture.ts';

export const KNOBS = { chainLengthMax: 3, replayChunkRecords: 4 };
const RECORDS_OF_AN_EPOCH = 5;

/** `epochs` epochs of 5 records each, with a base at each third, and what HEAD said after each. */
export async function history(
  epochs: number,
  more = {},
): Promise<{ world: TaskWorld; heads: Head[] }> {
  const world = new TaskWorld(60, { ...KNOBS, ...more });
  const heads = await deliverEpochs(world, world.task(), 0, epochs);
  return { world, heads };
}

export async function deliverEpochs(
  world: TaskWorld,
  task: SliceTask,
  from: number,
  to: number,
): Promise<Head[]> {
  const heads: Head[] = [];
  for (let epoch = from; epoch < to; epoch++) {
    const at = epoch * RECORDS_OF_AN_EPOCH;
    await task.deliver(world.batch(at, at + RECORDS_OF_AN_EPOCH), PLENTY);
    heads.push(await world.head());
  }
  return heads;
}

/** The whole log is in the answers, once, and the slice is open on the timeline. */
export async function expectAll(world: TaskWorld, timeline: number): Promise<Head> {
  const head = await world.head();
  expect(head).toMatchObject({ status: 'OPEN', timeline });
  expect(comparePositions(head.cursor, head.delivered)).toBe(0);
  const last = world.records.findIndex((r) => comparePositions(r, head.cursor) === 0);
  expect(await world.answers(head)).toEqual(world.expected(last + 1));
  expect(head.counts).toEqual(world.expectedCounts(last + 1));
  return head;
}
