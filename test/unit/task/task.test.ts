import { describe, expect, it } from 'vitest';
import { blobKey } from '../../../core/checkpoint/names.ts';
import {
  BehindFault,
  CorruptStateFault,
  HeldFault,
  InvariantFault,
  ReplayGapFault,
  TransientFault,
} from '../../../core/faults.ts';
import type { QuarantineIndex, RecordSource, StreamRecord } from '../../../core/ports.ts';
import { SequenceHash } from '../../../core/state/digest.ts';
import { SHARD } from '../../world/small-log.ts';
import { PLENTY, TaskWorld } from './task-fixture.ts';

/** Time enough for `calls` looks at the clock, then none. */
function timeFor(calls: number): () => number {
  let left = calls;
  return () => (left-- > 0 ? 60_000 : 0);
}

describe('a delivery', () => {
  it('folds a batch, completes an epoch and reports it', async () => {
    const world = new TaskWorld(20);
    const report = await world.task().deliver(world.records, PLENTY);
    expect(report).toEqual({
      folded: 20,
      rewoundTo: null,
      lostParts: 0,
      possibleGap: null,
      replayed: 0,
      restored: 1,
      commits: 1,
      refused: 0,
      quarantined: world.expectedCounts(20).quarantined,
      late: world.expectedCounts(20).late,
      savedBytes: (await world.head()).delta?.byteLength,
      savedEntries: 20,
      writeMs: 0,
      headMs: 0,
      generation: null,
      epoch: 1,
      isUnfinished: false,
    });
    const head = await world.head();
    expect(head).toMatchObject({ epoch: 1, revision: 2, chainLength: 1 });
    expect(head.cursor.sequenceNumber).toBe(world.records.at(-1)?.sequenceNumber);
    expect(head.delivered).toEqual(head.cursor);
    expect(head.deliveredArrivalMs).toBe(world.records.at(-1)?.arrivalMs);
    expect(await world.answers(head)).toEqual(world.expected(20));
  });

  it('takes its records in any batches, some again, and folds each once', async () => {
    const world = new TaskWorld(60);
    const task = world.task();
    const bounds = [
      [0, 10],
      [5, 12],
      [5, 12],
      [0, 3],
      [11, 40],
      [39, 60],
    ] as const;
    for (const [from, to] of bounds) await task.deliver(world.records.slice(from, to), PLENTY);
    const head = await world.head();
    expect(head.digest.count).toBe(60);
    expect(await world.answers(head)).toEqual(world.expected(60));
  });

  it('writes nothing for a batch that is in the state already', async () => {
    const world = new TaskWorld(20);
    await world.task().deliver(world.records, PLENTY);
    const report = await world.task().deliver(world.records.slice(3, 9), PLENTY);
    expect(report).toMatchObject({ folded: 0, commits: 0, epoch: 1 });
    expect(await world.head()).toMatchObject({ revision: 2 });
  });

  it('of nothing creates HEAD at the beginning of the shard, and no more', async () => {
    const world = new TaskWorld(0);
    const report = await world.task().deliver([], PLENTY);
    expect(report).toMatchObject({ commits: 0, epoch: 0 });
    expect(await world.head()).toMatchObject({ epoch: 0, revision: 1, delta: null });
  });

  it('is one at a time', async () => {
    const world = new TaskWorld(4);
    const task = world.task();
    const first = task.deliver(world.records.slice(0, 2), PLENTY);
    await expect(task.deliver(world.records.slice(2), PLENTY)).rejects.toThrow(InvariantFault);
    await first;
    expect((await world.head()).digest.count).toBe(2);
  });
});

describe('a batch that does not follow what HEAD holds', () => {
  it('is preceded by what the event source left out', async () => {
    const world = new TaskWorld(40, { replayChunkRecords: 3 });
    const report = await world.task().deliver(world.records.slice(30), PLENTY);
    expect(report).toMatchObject({ folded: 10, replayed: 30 });
    expect(await world.answers(await world.head())).toEqual(world.expected(40));
  });

  it('is held against one record of the stream where nothing lies between', async () => {
    const world = new TaskWorld(40);
    await world.task().deliver(world.records.slice(0, 10), PLENTY);
    const limits: number[] = [];
    const source: RecordSource = {
      readAfter: (shardId, after, limit) => {
        limits.push(limit);
        return world.source.readAfter(shardId, after, limit);
      },
    };
    await world.task({ source }).deliver(world.records.slice(10, 20), PLENTY);
    expect(limits).toEqual([1]);
  });

  it('is held against the stream after a long silence, by a memory that goes on too', async () => {
    const world = new TaskWorld(40);
    const task = world.task();
    const late = world.records.map((record, index) => ({
      ...record,
      arrivalMs: index < 20 ? record.arrivalMs : record.arrivalMs + 60_000,
    }));
    await task.deliver(late.slice(0, 10), PLENTY);
    await task.deliver(late.slice(20), PLENTY);
    world.records.splice(0, 40, ...late);
    expect(await world.answers(await world.head())).toEqual(world.expected(40));
  });

  it('is held against the stream when it is so old that the stream trims what comes before it', async () => {
    const world = new TaskWorld(40);
    const task = world.task();
    await task.deliver(world.records.slice(0, 10), PLENTY);
    world.clock.advance(21 * 3_600_000);
    const report = await task.deliver(world.records.slice(15), PLENTY);
    expect(report).toMatchObject({ folded: 25, replayed: 5, possibleGap: null });
    expect(await world.answers(await world.head())).toEqual(world.expected(40));
  });

  it('goes on, and says that a gap is possible, where the record before it has expired by then', async () => {
    const world = new TaskWorld(40);
    const task = world.task();
    await task.deliver(world.records.slice(0, 10), PLENTY);
    world.clock.advance(21 * 3_600_000);
    world.source.trim(SHARD, world.records[9] as StreamRecord);
    world.source.trim(SHARD, world.records[14] as StreamRecord);
    const report = await task.deliver(world.records.slice(15), PLENTY);
    expect(report.possibleGap).toEqual({
      after: world.records[9]?.sequenceNumber,
      before: world.records[15]?.sequenceNumber,
    });
    expect((await world.head()).digest.count).toBe(35);
  });

  it('is refused where the stream no longer has what lies between', async () => {
    const world = new TaskWorld(40);
    await world.task().deliver(world.records.slice(0, 10), PLENTY);
    world.source.trim(SHARD, world.records[19] as StreamRecord);
    const before = await world.head();
    const delivery = world.task().deliver(world.records.slice(20), PLENTY);
    await expect(delivery).rejects.toThrow(ReplayGapFault);
    expect(await world.head()).toEqual(before);
  });

  it('begins a new slice at the oldest record that the stream has', async () => {
    const world = new TaskWorld(40);
    world.source.trim(SHARD, world.records[9] as StreamRecord);
    await world.task().deliver(world.records.slice(10), PLENTY);
    expect((await world.head()).digest.count).toBe(30);
  });

  it.each([
    ['its first record has gone since', 14],
    ['all of the stream has gone since', 39],
  ])('begins a new slice with its first record, although %s', async (_, trimmed) => {
    const world = new TaskWorld(40);
    world.source.trim(SHARD, world.records[trimmed] as StreamRecord);
    await world.task().deliver(world.records.slice(10), PLENTY);
    expect((await world.head()).digest.count).toBe(30);
  });

  it('is folded by position, whatever its order', async () => {
    const world = new TaskWorld(20);
    const shuffled = [...world.records].sort((a, b) => (a.arrivalMs % 7) - (b.arrivalMs % 7));
    expect(await world.task().deliver(shuffled, PLENTY)).toMatchObject({ folded: 20 });
    expect(await world.answers(await world.head())).toEqual(world.expected(20));
  });
});

describe('a replay', () => {
  it('folds what HEAD has answered for before the batch', async () => {
    const world = new TaskWorld(40, { replayChunkRecords: 5 });
    await world.task().deliver(world.records.slice(0, 10), PLENTY);
    await world.deliverOnly(30);
    const report = await world.task().deliver(world.records.slice(30), PLENTY);
    expect(report).toMatchObject({ folded: 10, replayed: 20, commits: 4 });
    expect(await world.answers(await world.head())).toEqual(world.expected(40));
  });

  it('drops what it has replayed from the batch: at or before the position, not `delivered`', async () => {
    const world = new TaskWorld(40);
    await world.task().deliver(world.records.slice(0, 10), PLENTY);
    await world.deliverOnly(30);
    await world.task().deliver(world.records.slice(10, 35), PLENTY);
    const head = await world.head();
    expect(head.digest.count).toBe(35);
    expect(await world.answers(head)).toEqual(world.expected(35));
  });

  it('that runs out of time says so, and keeps what it has committed', async () => {
    const world = new TaskWorld(40, { replayChunkRecords: 5 });
    await world.task().deliver(world.records.slice(0, 10), PLENTY);
    await world.deliverOnly(40);
    const behind = world.task().deliver(world.records.slice(35), timeFor(3));
    await expect(behind).rejects.toThrow(BehindFault);
    const after = await world.head();
    expect(after).toMatchObject({ epoch: 4 });
    expect(after.cursor.sequenceNumber).toBe(world.records[24]?.sequenceNumber);
    expect(await world.answers(after)).toEqual(world.expected(25));
    const report = await world.task().deliver(world.records.slice(35), PLENTY);
    expect(report.replayed).toBe(15);
    expect(await world.answers(await world.head())).toEqual(world.expected(40));
  });

  it('waits for a stream that has not caught up with itself', async () => {
    const world = new TaskWorld(20);
    await world.task().deliver(world.records.slice(0, 10), PLENTY);
    await world.deliverOnly(20);
    const source: RecordSource = {
      readAfter: async () => ({
        outcome: 'records',
        origin: 'stream',
        records: [],
        reachedTip: false,
      }),
    };
    const delivery = world.task({ source }).deliver([], PLENTY);
    await expect(delivery).rejects.toThrow(TransientFault);
  });

  it.each([
    ['were trimmed', (world: TaskWorld) => world.source.trim(SHARD, world.records[14]!)],
    ['were all trimmed', (world: TaskWorld) => world.source.trim(SHARD, world.records[29]!)],
  ])('stops with a gap where its records %s', async (_, trim) => {
    const world = new TaskWorld(30);
    await world.task().deliver(world.records.slice(0, 10), PLENTY);
    await world.deliverOnly(20);
    trim(world);
    const gap = world.task().deliver(world.records.slice(20), PLENTY);
    await expect(gap).rejects.toThrow(ReplayGapFault);
    await expect(gap).rejects.toThrow(
      `needs the records of ${SHARD} after ${world.records[9]?.sequenceNumber} up to ${world.records[19]?.sequenceNumber}`,
    );
    expect((await world.head()).digest.count).toBe(10);
  });

  it('stops with a gap where the stream ends before what HEAD has answered for', async () => {
    const world = new TaskWorld(30);
    await world.task().deliver(world.records.slice(0, 10), PLENTY);
    await world.deliverOnly(20);
    const source: RecordSource = {
      readAfter: async () => ({
        outcome: 'records',
        origin: 'stream',
        records: [],
        reachedTip: true,
      }),
    };
    await expect(world.task({ source }).deliver([], PLENTY)).rejects.toThrow(ReplayGapFault);
  });

  it('stops with a gap, not with empty epochs, where the stream was replaced by a later one', async () => {
    const world = new TaskWorld(30);
    await world.task().deliver(world.records.slice(0, 10), PLENTY);
    await world.deliverOnly(20);
    const source: RecordSource = {
      readAfter: async () => ({
        outcome: 'records',
        origin: 'stream',
        records: world.records.slice(20),
        reachedTip: true,
      }),
    };
    const gap = world.task({ source }).deliver([], timeFor(50));
    await expect(gap).rejects.toThrow(ReplayGapFault);
    expect((await world.head()).epoch).toBe(1);
  });
});

describe('a checkpoint on request', () => {
  it('writes a base, although nothing is new', async () => {
    const world = new TaskWorld(30);
    const task = world.task();
    await task.deliver(world.records, PLENTY);
    const report = await task.checkpoint(PLENTY);
    expect(report).toMatchObject({ folded: 0, commits: 1, epoch: 2 });
    const head = await world.head();
    expect(head).toMatchObject({ chainLength: 0, chainBytes: 0, base: { epoch: 2 } });
    expect(await world.answers(head)).toEqual(world.expected(30));
  });

  it('works for a slice that has no record yet', async () => {
    const world = new TaskWorld(5);
    await world.task().checkpoint(PLENTY);
    expect(await world.head()).toMatchObject({ epoch: 1, base: { epoch: 1 } });
    await world.task().deliver(world.records, PLENTY);
    expect(await world.answers(await world.head())).toEqual(world.expected(5));
  });

  it('folds first what was only answered for', async () => {
    const world = new TaskWorld(30);
    await world.task().deliver(world.records.slice(0, 10), PLENTY);
    await world.deliverOnly(30);
    expect(await world.task().checkpoint(PLENTY)).toMatchObject({ replayed: 20, commits: 1 });
    expect(await world.answers(await world.head())).toEqual(world.expected(30));
  });
});

describe('two owners of one slice', () => {
  it('follow each other by deltas, past bases too, and never restore', async () => {
    const world = new TaskWorld(200, { chainLengthMax: 5 });
    const tasks = [world.task(), world.task()] as const;
    let restored = 0;
    for (let index = 0; index < 200; index += 2) {
      const task = tasks[(index / 2) % 2] as (typeof tasks)[0];
      const report = await task.deliver(world.records.slice(index, index + 2), PLENTY);
      restored += report.restored;
      expect(report).toMatchObject({ folded: 2, replayed: 0, commits: 1 });
    }
    // One each: the first when the slice was empty, the second at its first delivery.
    expect(restored).toBe(2);
    expect((await world.head()).base?.epoch).toBeGreaterThan(90);
    expect(await world.answers(await world.head())).toEqual(world.expected(200));
  });

  it('that race for one commit both end with the whole batch', async () => {
    const world = new TaskWorld(40);
    const tasks = [world.task(), world.task()] as const;
    await tasks[0].deliver(world.records.slice(0, 10), PLENTY);
    await tasks[1].deliver(world.records.slice(0, 10), PLENTY);
    const reports = await Promise.all([
      tasks[0].deliver(world.records.slice(10, 30), PLENTY),
      tasks[1].deliver(world.records.slice(10, 40), PLENTY),
    ]);
    expect(reports.map(({ refused }) => refused).sort()).toEqual([0, 1]);
    expect(reports.map(({ restored }) => restored)).toEqual([0, 0]);
    const head = await world.head();
    expect(head.digest.count).toBe(40);
    expect(await world.answers(head)).toEqual(world.expected(40));
  });

  it('keep what they folded when HEAD moved on by `delivered` only', async () => {
    const world = new TaskWorld(40);
    const task = world.task();
    await task.deliver(world.records.slice(0, 10), PLENTY);
    let armed = true;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      if (armed) {
        armed = false;
        await world.deliverOnly(25);
      }
      return world.heads.writeHead(item, ifRevision, passing);
    });
    const other = world.task({ heads });
    const report = await other.deliver(world.records.slice(10, 20), PLENTY);
    expect(report).toMatchObject({ refused: 1, restored: 1, replayed: 5, commits: 1 });
    expect(await world.answers(await world.head())).toEqual(world.expected(25));
  });

  it('give the batch back after so many lost races', async () => {
    const world = new TaskWorld(10, { headWriteAttemptsMax: 3 });
    let writes = 0;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      writes++;
      await world.rewriteHead({});
      return world.heads.writeHead(item, ifRevision, passing);
    });
    const delivery = world.task({ heads }).deliver(world.records, PLENTY);
    await expect(delivery).rejects.toThrow(TransientFault);
    await expect(delivery).rejects.toThrow(/won 3 races for HEAD in a row/);
    expect(writes).toBe(3);
    expect((await world.head()).epoch).toBe(0);
  });

  it('restore one that slept until its deltas were collected, however long', async () => {
    const restored: number[] = [];
    for (let slept = 1; slept <= 8; slept++) {
      const world = new TaskWorld(60, { retentionGraceMs: 0 });
      const [sleeper, awake] = [world.task(), world.task()] as const;
      for (let index = 0; index < 50; index += 5) {
        const batch = world.records.slice(index, index + 5);
        await awake.deliver(batch, PLENTY);
        await awake.checkpoint(PLENTY);
        if (index < 50 - slept * 5) await sleeper.deliver(batch, PLENTY);
      }
      const report = await sleeper.deliver(world.records.slice(50), PLENTY);
      expect(report).toMatchObject({ folded: 10, commits: 1 });
      restored.push(report.restored);
      expect(await world.answers(await world.head())).toEqual(world.expected(60));
    }
    expect(restored).toContain(0);
    expect(restored).toContain(1);
  });
});

describe('a HEAD that this code may not write', () => {
  it.each([
    ['another plan', { planHash: 'f'.repeat(32) }, /runs by plan ffffffff/],
    ['a sealed slice', { status: 'SEALED' as const }, /is SEALED/],
    ['a slice that opens', { status: 'OPENING' as const }, /is OPENING/],
  ])('is left alone: %s', async (_, more, message) => {
    const world = new TaskWorld(20);
    const task = world.task();
    await task.deliver(world.records.slice(0, 10), PLENTY);
    const before = await world.rewriteHead(more);
    for (const owner of [task, world.task()]) {
      const delivery = owner.deliver(world.records.slice(10), PLENTY);
      await expect(delivery).rejects.toThrow(HeldFault);
      await expect(delivery).rejects.toThrow(message);
      await expect(owner.checkpoint(PLENTY)).rejects.toThrow(HeldFault);
    }
    expect((await world.head()).revision).toBe(before.revision);
  });

  it('is noticed when it disappears', async () => {
    const world = new TaskWorld(4);
    const heads = world.headsThatWrite(async () => ({ outcome: 'refused', current: null }));
    const delivery = world.task({ heads }).deliver(world.records, PLENTY);
    await expect(delivery).rejects.toThrow(CorruptStateFault);
  });
});

describe('a lost answer', () => {
  it.each(['applied', 'not applied'])('of a commit that was %s makes one epoch', async (what) => {
    const world = new TaskWorld(20);
    let armed = true;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      const fails = armed;
      armed = false;
      if (!fails || what === 'applied') {
        const answer = await world.heads.writeHead(item, ifRevision, passing);
        if (!fails) return answer;
      }
      throw new TransientFault('no answer');
    });
    const report = await world.task({ heads }).deliver(world.records, PLENTY);
    expect(report).toMatchObject({ commits: 1, refused: 0, epoch: 1 });
    expect(await world.answers(await world.head())).toEqual(world.expected(20));
  });
});

describe('damaged state', () => {
  it.each([
    ['the base', 'base', 3],
    ['the newest delta', 'delta', 2],
  ] as const)(
    'is never used, and the newest sound epoch stands in: %s',
    async (_, kind, soundEpoch) => {
      for (const damage of ['gone', 'cut', 'changed']) {
        const world = new TaskWorld(40);
        await world.task().deliver(world.records.slice(0, 20), PLENTY);
        await world.task().checkpoint(PLENTY);
        await world.task().deliver(world.records.slice(20, 30), PLENTY);
        const head = await world.head();
        const [store, reference] =
          kind === 'base'
            ? ([world.blobs.objects, head.base] as const)
            : ([world.blobs.items, head.delta] as const);
        const key = blobKey(head.sliceId, reference!);
        const bytes = (await store.read(key)) as Uint8Array;
        await store.delete([key]);
        if (damage === 'cut') await store.create(key, bytes.slice(1));
        if (damage === 'changed')
          await store.create(
            key,
            bytes.map((byte, at) => byte ^ +(at === 99)),
          );
        const report = await world.task().deliver(world.records.slice(30), PLENTY);
        expect(report).toMatchObject({ rewoundTo: soundEpoch });
        expect(await world.head()).toMatchObject({ status: 'OPEN', timeline: 1, generation: 1 });
        expect(await world.answers(await world.head())).toEqual(world.expected(40));
      }
    },
  );

  it('that passes every checksum but does not add up to HEAD is not used', async () => {
    const world = new TaskWorld(20);
    await world.task().deliver(world.records, PLENTY);
    const head = await world.head();
    const { counts, watermarkMs } = head;
    const digest = head.digest.copy();
    digest.add('1', new SequenceHash('another'));
    const changes = [
      { digest, counts: { ...counts, folded: counts.folded + 1 }, recordCount: 21 },
      { counts: { ...counts, folded: counts.folded + 1 }, recordCount: 21 },
      { watermarkMs: watermarkMs - 1 },
    ];
    for (const change of changes) {
      const { revision, ...now } = await world.head();
      await world.rewriteHead({ ...now, ...change, revision: revision + 1 });
      const report = await world.task().deliver([], PLENTY);
      expect(report.rewoundTo).not.toBeNull();
      expect(await world.answers(await world.head())).toEqual(world.expected(20));
    }
  });

  it('of which nothing older is left stops the slice and says what to do', async () => {
    const world = new TaskWorld(40);
    await world.task().deliver(world.records.slice(0, 20), PLENTY);
    const head = await world.head();
    await world.blobs.items.delete([blobKey(head.sliceId, head.delta!)]);
    world.source.trim(SHARD, world.records[0]!);
    const delivery = world.task().deliver(world.records.slice(20), PLENTY);
    await expect(delivery).rejects.toThrow(/no older epoch .* can be read whole and replayed/);
    expect((await world.head()).revision).toBe(head.revision);
  });
});

const brokenIndex: QuarantineIndex = {
  list: async () => [],
  describe: async () => [],
  read: async () => new Map(),
  purge: async () => {},
  put: async () => {
    throw new TransientFault('the index is away');
  },
};

describe('the quarantine index', () => {
  it('lists what an epoch quarantined, written again by the next owner after a crash', async () => {
    const world = new TaskWorld(60);
    const failed = world.task({ quarantine: brokenIndex }).deliver(world.records, PLENTY);
    await expect(failed).rejects.toThrow(TransientFault);
    expect(await world.quarantine.list(null, 100)).toEqual([]);
    await world.task().deliver(world.records, PLENTY);
    const listed = await world.quarantine.list(null, 100);
    const head = await world.head();
    expect(listed).toHaveLength(head.counts.quarantined);
    expect(listed.length).toBeGreaterThan(3);
    for (const record of listed) {
      expect(record).toMatchObject({
        epoch: 1,
        timeline: 0,
        shardId: SHARD,
        planHash: head.planHash,
      });
      const original = world.records.find((r) => r.sequenceNumber === record.sequenceNumber);
      expect(record.data).toEqual((original as StreamRecord).data);
    }
  });

  it('holds up the next commit until it has taken what the last one quarantined', async () => {
    const world = new TaskWorld(80);
    await world.task().deliver(world.records.slice(0, 40), PLENTY);
    const before = await world.head();
    const delivery = world
      .task({ quarantine: brokenIndex })
      .deliver(world.records.slice(40), PLENTY);
    await expect(delivery).rejects.toThrow(TransientFault);
    expect((await world.head()).revision).toBe(before.revision);
  });
});
