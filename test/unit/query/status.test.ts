import { describe, expect, it } from 'vitest';
import { MemoryAgeStore } from '../../../adapters/memory/memory-age-store.ts';
import { headItem } from '../../../core/checkpoint/head.ts';
import { ConfigurationFault, StreamMismatchFault, TransientFault } from '../../../core/faults.ts';
import { SHARD_LIST_AGE_MS_MAX } from '../../../core/limits.ts';
import type { CheckpointStore, RecordSource } from '../../../core/ports.ts';
import type { Queries } from '../../../core/query/queries.ts';
import { sliceIdOf } from '../../../core/slice/topology.ts';
import { Digest, SequenceHash } from '../../../core/state/digest.ts';
import { plan, QueryWorld, shardIdOf } from './query-world.ts';

const flight = (t: number) => ({ t, origin: 'LAX', to: 'X', delay: 1 });

async function statusOf(queries: Queries) {
  const status = await queries.status();
  if (!status.ok) throw new Error(JSON.stringify(status.problem));
  return status.value;
}

describe('the status', () => {
  it('of a pipeline without records is empty', async () => {
    expect(await statusOf(new QueryWorld().queries)).toEqual({
      pipeline: 'flights',
      plan: { ordinal: 0, hash: plan.hash },
      records: { folded: 0, duplicates: 0, late: 0, quarantined: 0, unmatched: 0, heartbeats: 0 },
      partlyQuarantined: 0,
      partlyDropped: 0,
      pastDedupe: 0,
      kinesisRecords: 0,
      digest: '0000000000000000',
      zone: 'UTC',
      watermark: null,
      slices: [],
    });
  });

  it('adds up what became of the records of all slices', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight(1_000), flight(2_000), 'bad');
    await world.deliver(1, flight(9_000));
    const status = await statusOf(world.queries);
    expect(status.records).toEqual({
      folded: 3,
      duplicates: 0,
      late: 0,
      quarantined: 1,
      unmatched: 0,
      heartbeats: 0,
    });
    expect(status.watermark).toBe('1969-12-31T23:59:57.000Z');
    const digest = new Digest();
    for (const [shard, count] of [
      [0, 3],
      [1, 1],
    ] as const) {
      for (let ordinal = 1; ordinal <= count; ordinal++) {
        digest.add(String(ordinal * 10), new SequenceHash(shardIdOf(shard)));
      }
    }
    expect(status.digest).toBe(digest.value().sum);
    expect(status.kinesisRecords).toBe(4);
  });

  it('names shards of which nothing is folded, and knows no watermark while one has records', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight(30_000));
    await world.openSlice(1);
    const shards = { shardIds: async () => [0, 1, 2, 3].map(shardIdOf) };
    const idle = ['slice-000000000001', 'slice-000000000002', 'slice-000000000003'];
    const empty = await statusOf(world.newQueries({ shards }));
    expect(empty).toMatchObject({ watermark: '1970-01-01T00:00:25.000Z', exempt: idle });
    expect(empty).not.toHaveProperty('waiting');

    world.append(3, flight(1_500));
    const waiting = await statusOf(world.newQueries({ shards }));
    const [first, second, third] = idle;
    expect(waiting).toMatchObject({ watermark: null, exempt: [first, second], waiting: [third] });
    expect(waiting.slices).toHaveLength(2);
  });

  it.each([
    new TransientFault('the stream is busy'),
    new ConfigurationFault('there is no stream', { hint: 'deploy it' }),
    new StreamMismatchFault('the stream is another one'),
  ])(
    'answers, and says why it knows no watermark, where the stream answers with %o',
    async (fault) => {
      const world = new QueryWorld();
      await world.deliver(0, flight(30_000));
      const silent = async () => {
        throw fault;
      };
      const streamFault = expect.stringMatching(/^(the|there is no) stream/);
      const unlisted = await statusOf(world.newQueries({ shards: { shardIds: silent } }));
      expect(unlisted).toMatchObject({ watermark: null, listed: false, streamFault });
      expect(unlisted.records.folded).toBe(1);
      if (fault.hint !== undefined) expect(unlisted.streamFault).toMatch(/: deploy it$/);

      await world.openSlice(1);
      // Ages are what ticks saw: the stream is asked of the empty shard alone.
      const ages = new MemoryAgeStore();
      const unread = await statusOf(world.newQueries({ ages, source: { readAfter: silent } }));
      expect(unread).toMatchObject({
        watermark: null,
        waiting: ['slice-000000000001'],
        streamFault,
      });
      expect(unread.slices).toHaveLength(2);
    },
  );

  it('reads an empty shard once in 10 s, however often it is asked, and whatever the stream says', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight(30_000));
    await world.openSlice(1);
    for (const isBusy of [false, true]) {
      let reads = 0;
      const readAfter: RecordSource['readAfter'] = async (...asked) => {
        reads++;
        if (isBusy) throw new TransientFault('throttled');
        return world.source.readAfter(...asked);
      };
      const queries = world.newQueries({ ages: new MemoryAgeStore(), source: { readAfter } });
      const ask = async () => (await statusOf(queries)).exempt ?? [];
      const exempt = isBusy ? [] : ['slice-000000000001'];
      for (let poll = 0; poll < 20; poll++) expect(await ask()).toEqual(exempt);
      world.clock.advance(SHARD_LIST_AGE_MS_MAX - 1);
      await ask();
      expect(reads).toBe(1);
      world.clock.advance(1);
      expect(await ask()).toEqual(exempt);
      // A clock that was set back says nothing of what was seen.
      world.clock.set(world.clock.nowMs() - 60_000);
      await ask();
      expect(reads).toBe(3);
    }
  });

  it('says of each slice where it stands', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight(1_000));
    await world.deliver(0, flight(2_000));
    world.clock.advance(3_000);
    const [slice] = (await statusOf(world.queries)).slices;
    expect(slice).toEqual({
      id: 'slice-000000000000',
      range: { start: '0'.repeat(32), end: 'f'.repeat(32) },
      shardId: shardIdOf(0),
      state: 'OPEN',
      timeline: 0,
      epoch: 2,
      generation: 0,
      plan: 1,
      revision: 3,
      cursor: '20',
      delivered: '20',
      watermark: '1969-12-31T23:59:57.000Z',
      records: 2,
      kinesisRecords: 2,
      behindMs: 0,
      checkpointAgeMs: 3_000,
      entries: 3,
      stateBytes: expect.any(Number),
    });
    expect(slice?.stateBytes).toBeGreaterThan(0);
  });

  it('is behind since the oldest record arrived that no checkpoint holds', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight(1_000));
    world.append(0, flight(2_000));
    world.clock.advance(5_000);
    // Records arrive a second before they are appended here.
    expect((await statusOf(world.queries)).slices[0]?.behindMs).toBe(6_000);
  });

  it.each([
    ['a little', 5_000, 1, 0],
    ['26 h', 26 * 3_600_000, null, null],
  ])('says no false age where its clock is behind by %s', async (_, backMs, behindMs, ageMs) => {
    const world = new QueryWorld();
    await world.deliver(0, flight(1_000));
    world.append(0, flight(2_000));
    world.clock.set(world.clock.nowMs() - backMs);
    expect((await statusOf(world.queries)).slices[0]).toMatchObject({
      behindMs,
      checkpointAgeMs: ageMs,
    });
  });

  it('does not claim to be at the tip when the stream does not say so', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight(1_000));
    const answers: RecordSource['readAfter'][] = [
      async () => ({ outcome: 'trimmed', oldest: null }),
      async () => ({ outcome: 'records', origin: 'stream', records: [], reachedTip: false }),
      async () => {
        throw new TransientFault('throttled');
      },
      async () => ({ outcome: 'gone' }),
      async () => {
        throw new StreamMismatchFault('another stream');
      },
    ];
    for (const readAfter of answers) {
      const queries = world.newQueries({ source: { readAfter } });
      expect((await statusOf(queries)).slices[0]?.behindMs).toBeNull();
    }
  });

  it('leaves sealed slices and those without a time out of the watermark', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight(1_000));
    await world.deliver(1, flight(60_000));
    await world.deliver(2, 'bad');
    const head = await world.head(0);
    const sealed = {
      ...head,
      status: 'SEALED' as const,
      revision: head.revision + 1,
      nonce: 'f'.repeat(16),
    };
    await world.heads.writeHead(headItem(sealed), head.revision, null);
    expect((await statusOf(world.queries)).watermark).toBe('1970-01-01T00:00:55.000Z');
  });

  it('asks to try again when the store does not answer', async () => {
    const world = new QueryWorld();
    const heads: CheckpointStore = Object.assign(Object.create(world.heads), {
      listHeads: async () => {
        throw new TransientFault('throttled', { hint: 'wait a second' });
      },
    });
    const queries = world.newQueries({ heads });
    const problem = { status: 503, code: 'try-again', detail: 'throttled: wait a second' };
    expect(await queries.status()).toMatchObject({ ok: false, problem });
    expect(await queries.view('by_origin', [])).toMatchObject({ ok: false, problem });
  });
});

it('asks the store for the ages that ticks saw, and not the stream, where there is such a store', async () => {
  const world = new QueryWorld();
  await world.deliver(0, flight(1));
  await world.deliver(1, flight(1));
  const ages = new MemoryAgeStore();
  const atMs = Date.UTC(2026, 0, 1);
  await ages.write({ sliceId: sliceIdOf(shardIdOf(1)), behindMs: 7_000, atMs });
  const source = {
    readAfter: async () => {
      throw new Error('the stream was read');
    },
  };
  const answer = await world.newQueries({ ages, source }).status();
  expect(answer).toMatchObject({
    ok: true,
    value: {
      slices: [
        { behindMs: null, behindAsOf: null },
        { behindMs: 7_000, behindAsOf: '2026-01-01T00:00:00.000Z' },
      ],
    },
  });
});
