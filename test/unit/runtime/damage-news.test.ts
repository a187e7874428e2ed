import { expect, it } from 'vitest';
import { damageNews } from '../../../runtime/damage-news.ts';

const SHARD = 'shardId-000000000001';
const done = { outcome: 'done', epoch: 7, generation: null, isUnfinished: false } as const;
const timelineOf = async () => 2;

it('tells of a slice that went back, and of parts that it lost', async () => {
  expect(await damageNews(SHARD, { outcome: 'nothing' }, timelineOf)).toEqual([]);
  expect(await damageNews(SHARD, { ...done, rewoundTo: null, lostParts: 0 }, timelineOf)).toEqual(
    [],
  );
  const sliceId = 'slice-000000000001';
  expect(await damageNews(SHARD, { ...done, rewoundTo: 5, lostParts: 3 }, timelineOf)).toEqual([
    { kind: 'rewound', sliceId, epoch: 5, timeline: 2 },
    { kind: 'parts-lost', sliceId, count: 3 },
  ]);
});
