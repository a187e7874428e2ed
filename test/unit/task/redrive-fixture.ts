/**
 * A slice with three records in its quarantine: one that code was too strict for, one that was late for a view, and one that
 * nothing can read.
 */
import { expect } from 'vitest';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { RecordDecoder } from '../../../core/decode/record-decoder.ts';
import { quarantineId, type StreamRecord } from '../../../core/ports.ts';
import { SliceState } from '../../../core/state/slice-state.ts';
import { SHARD, SLICE, type SmallRecord, smallPlan } from '../../world/small-log.ts';
import { emptyState } from '../state/fold-fixture.ts';
import { PLENTY, TaskWorld, textOf } from './task-fixture.ts';

const record = (id: number, t: number, more: Partial<SmallRecord> = {}): SmallRecord => ({
  id,
  t,
  type: 'a',
  key: 'k',
  amount: id + 1,
  ...more,
});

/**
 * Record 2 is refused by code that is too strict, record 5 is late for the view `put_aside`, record 6 is no JSON. Windows are
 * of 10 s; the watermark ends far behind all of them, so that closed windows are all but the last.
 */
const LOG: (SmallRecord | null)[] = [
  record(0, 100_000),
  record(1, 101_000, { type: 'b' }),
  record(2, 102_000),
  record(3, 103_000),
  record(4, 130_000),
  record(5, 102_000, { type: 'b' }),
  null,
  ...Array.from({ length: 20 }, (_, n) => record(7 + n, 140_000 + n * 5_000)),
];
export const [WHOLE, LATE, BROKEN] = [2, 5, 6];

/** Refuses the records with these ids, as code before some correction would. */
export function strictDecoder(
  ids: readonly number[],
  how: 'refuses' | 'throws' = 'refuses',
): RecordDecoder {
  const decoder = createJsonDecoder(smallPlan);
  return {
    decode: (data, fields) => {
      const bad = decoder.decode(data, fields);
      const id = /"id":(\d+)/.exec(new TextDecoder().decode(data))?.[1];
      if (id === undefined || !ids.includes(Number(id))) return bad;
      if (how === 'throws') throw new TypeError('a bug of the decoder');
      return { reason: 'wrong-type', detail: 'too strict' };
    },
  };
}

export const STRICT = { decoder: strictDecoder([WHOLE]) };

export class RedriveWorld extends TaskWorld {
  idOf(index: number, timeline = 0): string {
    return quarantineId({ ...(this.records[index] as StreamRecord), sliceId: SLICE, timeline });
  }

  requestFor(...indexes: number[]): Promise<string> {
    return this.request(indexes.map((index) => this.idOf(index)));
  }

  async outcomeOf(id: string): Promise<{ redriven: number[]; refused: string[] } | null> {
    const { done } = await this.requestOf(id);
    if (done === null) return null;
    const indexOf = (record: string) => this.records.findIndex((_, n) => this.idOf(n) === record);
    return {
      redriven: done.redriven.map(indexOf),
      refused: done.refused.map(({ id: record, reason }) => `${indexOf(record)}: ${reason}`),
    };
  }

  /** The stores must hold the first 10 records by strict code, the next up to `first`, then these redriven ones, then the others up to `count`. */
  async expectRedriven(redriven: readonly number[], count = 10, first = 10): Promise<void> {
    const strict = emptyState(smallPlan, STRICT.decoder);
    for (const each of this.batch(0, 10)) strict.fold(each);
    strict.commit();
    const state = new SliceState(strict.image, createJsonDecoder(smallPlan), SHARD);
    for (const each of this.batch(10, first)) state.fold(each);
    for (const index of redriven) {
      const record = { ...this.records[index]!, shardId: SHARD };
      expect(state.redrive(record, []).outcome).toBe('redriven');
    }
    for (const each of this.batch(first, count)) state.fold(each);
    state.commit();
    const head = await this.head();
    expect(head.counts).toEqual(state.progress.counts);
    expect(await this.answers(head)).toEqual(textOf(state));
  }
}

/** The first 10 records by strict code, in one epoch. */
export async function begun(knobs = {}): Promise<RedriveWorld> {
  const world = new RedriveWorld(LOG, knobs);
  await world.task({}, STRICT).deliver(world.batch(0, 10), PLENTY);
  expect((await world.head()).counts).toMatchObject({ folded: 7, quarantined: 3 });
  return world;
}
