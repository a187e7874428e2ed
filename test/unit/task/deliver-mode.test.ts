/** Invocations that only answer for their batch: what they folded is in memory and in the stream, in no checkpoint yet. */
import { describe, expect, it } from 'vitest';
import { PLENTY, TaskWorld } from './task-fixture.ts';

const AGE_MS = 10_000;

/** The first 10 of the records are in epoch 1; the clock has not moved since. */
async function begun(length = 60): Promise<TaskWorld> {
  const world = new TaskWorld(length, { unsavedAgeMsMax: AGE_MS });
  await world.task().deliver(world.batch(0, 10), PLENTY);
  return world;
}

describe('an invocation that only answers for its batch', () => {
  it('moves `delivered` in HEAD, and nothing else anywhere', async () => {
    const world = await begun();
    const [before, blobs] = [await world.head(), await world.allBlobs()];
    const report = await world.task().deliver(world.batch(10, 20), PLENTY);
    expect(report).toMatchObject({ folded: 10, commits: 0, epoch: 1 });
    const { sequenceNumber, subSequence, arrivalMs } = world.records[19]!;
    expect(await world.head()).toEqual({
      ...before,
      revision: before.revision + 1,
      nonce: expect.any(String),
      delivered: { sequenceNumber, subSequence },
      deliveredArrivalMs: arrivalMs,
    });
    expect(await world.allBlobs()).toEqual(blobs);
  });

  it('shows readers the checkpoint, and not what is only delivered', async () => {
    const world = await begun();
    await world.task().deliver(world.batch(10, 20), PLENTY);
    expect(await world.answers(await world.head())).toEqual(world.expected(10));
  });

  it('is followed by another environment, which reads its records from the stream', async () => {
    const world = await begun();
    await world.task().deliver(world.batch(10, 20), PLENTY);
    const other = world.task();
    const report = await other.deliver(world.batch(20, 25), PLENTY);
    expect(report).toMatchObject({ folded: 5, replayed: 10, commits: 0 });
    world.clock.advance(AGE_MS);
    expect(await other.deliver(world.batch(25, 26), PLENTY)).toMatchObject({
      replayed: 0,
      commits: 1,
    });
    expect(await world.answers(await world.head())).toEqual(world.expected(26));
  });

  it('becomes part of the epoch that somebody completes when it has grown old', async () => {
    const world = await begun();
    const task = world.task();
    await task.deliver(world.batch(10, 20), PLENTY);
    world.clock.advance(AGE_MS - 1);
    expect(await task.deliver(world.batch(20, 30), PLENTY)).toMatchObject({ commits: 0 });
    world.clock.advance(1);
    expect(await task.deliver(world.batch(30, 35), PLENTY)).toMatchObject({ commits: 1, epoch: 2 });
    expect(await world.answers(await world.head())).toEqual(world.expected(35));
  });

  it('writes nothing for records that it has answered for already', async () => {
    const world = await begun();
    const task = world.task();
    await task.deliver(world.batch(10, 20), PLENTY);
    const before = await world.head();
    expect(await task.deliver(world.batch(12, 20), PLENTY)).toMatchObject({
      commits: 0,
      folded: 0,
    });
    expect(await world.head()).toEqual(before);
  });

  it('takes turns with others, and every record folds once', async () => {
    const world = await begun(200);
    const tasks = [world.task(), world.task(), world.task()];
    for (let at = 10, turn = 0; at < 200; at += 5, turn++) {
      world.clock.advance(1_700);
      await tasks[(turn * turn) % 3]!.deliver(world.batch(at - 2, at + 5), PLENTY);
    }
    await tasks[1]!.checkpoint(PLENTY);
    const head = await world.head();
    expect(head.epoch).toBeGreaterThan(5);
    expect(head.epoch).toBeLessThan(30);
    expect(await world.answers(head)).toEqual(world.expected(200));
  });

  it('keeps what it folded when another was faster with `delivered`', async () => {
    const world = await begun();
    let armed = true;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      if (armed) {
        armed = false;
        await world.deliverOnly(25);
      }
      return world.heads.writeHead(item, ifRevision, passing);
    });
    const task = world.task({ heads });
    const report = await task.deliver(world.batch(10, 20), PLENTY);
    expect(report).toMatchObject({ refused: 1, restored: 1, replayed: 5, commits: 0 });
    await task.checkpoint(PLENTY);
    expect(await world.answers(await world.head())).toEqual(world.expected(25));
  });

  it('completes an epoch where the memory grows too large', async () => {
    const world = await begun(10);
    const data = new Uint8Array(900_000);
    const large = Array.from({ length: 19 }, (_, n) => ({
      sequenceNumber: String(99_999_999_999n + BigInt(n)),
      subSequence: 0,
      partitionKey: 'p',
      arrivalMs: 2_000_000,
      data,
    }));
    for (const record of large) world.source.append('shardId-000000000000', record);
    const task = world.task();
    expect(await task.deliver(large.slice(0, 10), PLENTY)).toMatchObject({ commits: 0 });
    expect(await task.deliver(large.slice(10), PLENTY)).toMatchObject({ commits: 1 });
    expect((await world.head()).counts.quarantined).toBe(19 + world.expectedCounts(10).quarantined);
  });
});

describe('a tick', () => {
  it('saves what has grown old although no record comes, whoever folded it', async () => {
    const world = await begun();
    await world.task().deliver(world.batch(10, 20), PLENTY);
    const other = world.task();
    world.clock.advance(AGE_MS);
    expect(await other.tick(PLENTY)).toMatchObject({ replayed: 10, commits: 1, epoch: 2 });
    expect(await world.answers(await world.head())).toEqual(world.expected(20));
  });

  it.each([30_000, 26 * 3_600_000])(
    'saves what waits where the clock was set back by %s ms, once',
    async (backMs) => {
      const world = await begun();
      await world.task().deliver(world.batch(10, 20), PLENTY);
      world.clock.set(world.clock.nowMs() - backMs);
      expect(await world.task().tick(PLENTY)).toMatchObject({ commits: 1 });
      expect(await world.task().tick(PLENTY)).toMatchObject({ commits: 0 });
      expect(await world.answers(await world.head())).toEqual(world.expected(20));
    },
  );

  it('leaves alone what is young, and what is saved', async () => {
    const world = await begun();
    const task = world.task();
    await task.deliver(world.batch(10, 20), PLENTY);
    const young = await world.head();
    world.clock.advance(AGE_MS - 1);
    expect(await task.tick(PLENTY)).toMatchObject({ commits: 0 });
    expect(await world.head()).toEqual(young);
    await task.checkpoint(PLENTY);
    world.clock.advance(10 * AGE_MS);
    const saved = await world.head();
    expect(await task.tick(PLENTY)).toMatchObject({ commits: 0 });
    expect(await world.head()).toEqual(saved);
  });

  it('saves in chunks what is more than fits its time', async () => {
    const world = new TaskWorld(60, { unsavedAgeMsMax: AGE_MS, replayChunkRecords: 8 });
    await world.task().deliver(world.batch(0, 10), PLENTY);
    await world.task().deliver(world.batch(10, 60), PLENTY);
    world.clock.advance(AGE_MS);
    expect(await world.task().tick(PLENTY)).toMatchObject({ replayed: 50, commits: 7 });
    expect(await world.answers(await world.head())).toEqual(world.expected(60));
  });
});
