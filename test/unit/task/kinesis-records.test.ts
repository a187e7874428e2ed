/** Records inside Kinesis records: each is folded once, and a memory has all of a Kinesis record or nothing of it. */
import { describe, expect, it } from 'vitest';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import { InvariantFault } from '../../../core/faults.ts';
import type { StreamRecord, Suspicion } from '../../../core/ports.ts';
import { Digest, SequenceHash } from '../../../core/state/digest.ts';
import { Crash } from '../../world/fault-switch.ts';
import { SHARD, SLICE, type SmallRecord, smallPlan } from '../../world/small-log.ts';
import { emptyState } from '../state/fold-fixture.ts';
import { PLENTY, TaskWorld, textOf } from './task-fixture.ts';

const SIZES = [1, 4, 2, 1, 7];
/** Where Kinesis records of 60 records end, by these sizes. */
const ENDS = [1, 5, 7, 8, 15, 16, 20, 22, 23, 30, 31, 35, 37, 38, 45, 46, 50, 52, 53, 60];

/** The digest that an archive of the Kinesis records as they are would have. */
function rawDigest(records: readonly StreamRecord[]): { count: number; sum: string } {
  const digest = new Digest();
  const hash = new SequenceHash(SHARD);
  for (const number of new Set(records.map(({ sequenceNumber }) => sequenceNumber))) {
    digest.add(number, hash);
  }
  return digest.value();
}

async function expectAllIn(world: TaskWorld, count = world.records.length): Promise<void> {
  const head = await world.head();
  expect(head).toMatchObject({ status: 'OPEN', recordCount: count });
  expect(head.digest.value()).toEqual(rawDigest(world.records.slice(0, count)));
  expect(head.counts).toEqual(world.expectedCounts(count));
  expect(await world.answers(head)).toEqual(world.expected(count));
}

/** The records as code that knows no aggregates has them: each Kinesis record is one, and is bad. */
function unopened(records: readonly StreamRecord[]): StreamRecord[] {
  return records
    .filter(({ subSequence }) => subSequence === 0)
    .map(({ lastSubSequence, ...record }) =>
      lastSubSequence === undefined ? record : { ...record, data: Uint8Array.of(0xf3, 0x89) },
    );
}

describe('records inside Kinesis records', () => {
  it('count each for itself, and in the digest as the Kinesis records that they are in', async () => {
    const world = new TaskWorld(60, {}, { sizes: SIZES });
    await world.task().deliver(world.records, PLENTY);
    await expectAllIn(world);
    expect((await world.head()).digest.count).toBe(ENDS.length);
  });

  it('are dropped or folded with all that is inside, however batches overlap', async () => {
    const world = new TaskWorld(60, {}, { sizes: SIZES });
    for (const [from, to] of [
      [0, 7],
      [1, 15],
      [5, 8],
      [8, 31],
      [0, 60],
    ] as const) {
      await world.task().deliver(world.batch(from, to), PLENTY);
    }
    await expectAllIn(world);
  });

  it('are replayed whole, whatever a chunk holds', async () => {
    const world = new TaskWorld(60, { replayChunkRecords: 1 }, { sizes: SIZES });
    await world.task().deliver(world.batch(0, 5), PLENTY);
    await world.deliverOnly(53);
    const report = await world.task().deliver(world.batch(53, 60), PLENTY);
    expect(report.replayed).toBe(48);
    expect(report.commits).toBeGreaterThan(10);
    await expectAllIn(world);
  });

  it('close a gap whole', async () => {
    const world = new TaskWorld(60, { replayChunkRecords: 2 }, { sizes: SIZES });
    await world.task().deliver(world.batch(0, 5), PLENTY);
    await world.task().deliver(world.batch(46, 60), PLENTY);
    await expectAllIn(world);
  });

  it('come out of order, and are folded in order', async () => {
    const world = new TaskWorld(60, {}, { sizes: SIZES });
    const batch = [...world.batch(31, 60), ...world.batch(0, 35)];
    await world.task().deliver(batch, PLENTY);
    await expectAllIn(world);
  });
});

describe('a Kinesis record that was folded before the decoder knew what is inside', () => {
  it('is dropped whole when it comes again', async () => {
    const world = new TaskWorld(20, {}, { sizes: SIZES });
    const old = unopened(world.records);
    await world.task().deliver(old.slice(0, 5), PLENTY);
    const before = await world.head();
    expect(before).toMatchObject({ recordCount: 5, counts: { quarantined: 3 } });
    const seen = new TaskWorld(20, {}, { sizes: SIZES });
    const report = await world.task().deliver(seen.batch(0, 15), PLENTY);
    expect(report).toMatchObject({ folded: 0, commits: 0 });
    expect(await world.head()).toEqual(before);
    await world.task().deliver(seen.records, PLENTY);
    const { counts, recordCount, digest, cursor } = await world.head();
    expect(recordCount).toBe(10);
    expect(counts.quarantined).toBeGreaterThanOrEqual(3);
    expect(digest.value()).toEqual(rawDigest(world.records));
    expect(cursor).toEqual({ sequenceNumber: world.records[16]?.sequenceNumber, subSequence: 3 });
  });

  it('ends a replay that reaches it, with all that is inside', async () => {
    const world = new TaskWorld(60, {}, { sizes: SIZES });
    await world.task().deliver(world.batch(0, 5), PLENTY);
    const { sequenceNumber, arrivalMs } = world.records[16] as StreamRecord;
    const delivered = { sequenceNumber, subSequence: 0 };
    await world.rewriteHead({ delivered, deliveredArrivalMs: arrivalMs });
    await world.task().recover(PLENTY);
    expect(await world.head()).toMatchObject({
      status: 'OPEN',
      delivered,
      cursor: { sequenceNumber, subSequence: 3 },
    });
    await expectAllIn(world, 20);
    await world.task().deliver(world.batch(15, 60), PLENTY);
    await expectAllIn(world);
  });
});

describe('a commit', () => {
  it.each([2, 4, 9, 14])('never falls inside a Kinesis record: %i of its batch', async (count) => {
    const world = new TaskWorld(20, {}, { sizes: SIZES });
    const delivery = world.task().deliver(world.batch(0, count), PLENTY);
    await expect(delivery).rejects.toThrow(InvariantFault);
    await expect(delivery).rejects.toThrow('a-commit-falls-between-kinesis-records');
    expect((await world.head()).epoch).toBe(0);
    await world.task().deliver(world.records, PLENTY);
    await expectAllIn(world);
  });

  it('never falls inside one where a batch is answered for and saved later', async () => {
    const world = new TaskWorld(20, { unsavedAgeMsMax: 10_000 }, { sizes: SIZES });
    await world.task().deliver(world.batch(0, 5), PLENTY);
    const delivery = world.task().deliver(world.batch(5, 6), PLENTY);
    await expect(delivery).rejects.toThrow('a-commit-falls-between-kinesis-records');
    expect((await world.head()).delivered.sequenceNumber).toBe(world.records[4]?.sequenceNumber);
  });

  it('takes a whole Kinesis record where deaths have it take one record', async () => {
    const world = new TaskWorld(60, {}, { sizes: SIZES });
    await world.task().deliver(world.batch(0, 1), PLENTY);
    const note: Suspicion = {
      position: (await world.head()).cursor,
      attempts: 1,
      chunkRecords: 1,
    };
    await world.ports.suspicions.write(SLICE, note);
    const report = await world.task().deliver(world.records, PLENTY);
    expect(report.commits).toBeGreaterThan(3);
    await expectAllIn(world);
  });
});

it('a Kinesis record with one inside that kills is quarantined whole, and nothing else', async () => {
  const log: SmallRecord[] = Array.from({ length: 24 }, (_, id) => ({
    ...{ id, t: 100_000 + id * 700, key: `k${id % 4}`, amount: id },
    type: 'a',
  }));
  const world = new TaskWorld(log, {}, { sizes: SIZES });
  const decoder = createJsonDecoder(smallPlan);
  const KILLS = 11;
  for (let deaths = 0; ; deaths++) {
    expect(deaths).toBeLessThan(40);
    const life = { dead: false };
    const lethal = {
      decode: (...[data, fields]: Parameters<typeof decoder.decode>) => {
        if ((JSON.parse(new TextDecoder().decode(data)) as SmallRecord).id === KILLS) {
          life.dead = true;
          throw new Crash('out of memory');
        }
        return decoder.decode(data, fields);
      },
    };
    try {
      await world.mortalTask(life, { decoder: lethal }).deliver(world.records, PLENTY);
      break;
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
    }
  }
  const bad = { reason: 'kills-its-environment', detail: '' } as const;
  const { sequenceNumber } = world.records[KILLS] as StreamRecord;
  const state = emptyState(smallPlan);
  for (const record of world.records) {
    state.fold(record, record.sequenceNumber === sequenceNumber ? bad : null);
  }
  const head = await world.head();
  expect(head.counts).toEqual(state.progress.counts);
  state.commit();
  expect(await world.answers(head)).toEqual(textOf(state));
  const listed = await world.quarantine.list(null, 100);
  expect(listed.map((record) => [record.subSequence, record.reason])).toEqual(
    Array.from({ length: 7 }, (_, sub) => [sub, 'kills-its-environment']),
  );
});
