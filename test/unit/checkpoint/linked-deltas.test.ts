import { beforeAll, describe, expect, it } from 'vitest';
import { decodeBase } from '../../../core/checkpoint/base.ts';
import { readBlob } from '../../../core/checkpoint/blobs.ts';
import { type ChainChange, type ChainLink, linksAfter } from '../../../core/checkpoint/chain.ts';
import type { Head } from '../../../core/checkpoint/head.ts';
import { buildFrom, load, readLink } from '../../../core/checkpoint/restore.ts';
import { SLICE, type SmallRecord, smallPlan } from '../../world/small-log.ts';
import { PLENTY, TaskWorld } from '../task/task-fixture.ts';

const KNOBS = {
  chainLengthMax: 9,
  mergeFanIn: 1_000,
  partBytesMax: 200,
  partBytesMinToRewrite: 200,
};

/** Of many groups, so that a base writes few of its parts anew. */
const LOG = Array.from({ length: 400 }, (_, id): SmallRecord => {
  return { id, t: 1_000, type: 'a', key: `group ${(id * 7) % 60}`, amount: id };
});

const ANOTHER = { kind: 'delta', timeline: 9, epoch: 1, nonce: 'another' } as const;

describe('a restore', () => {
  const world = new TaskWorld(LOG, KNOBS);
  let head: Head;
  let baseEpoch = 0;
  let older: ChainLink[] = [];
  let later: ChainLink[] = [];

  beforeAll(async () => {
    const task = world.task();
    for (let at = 0; at < 400 && (older.length < 3 || later.length !== 2); at += 4) {
      await task.deliver(world.batch(at, at + 4), PLENTY);
      head = await world.head();
      baseEpoch = head.base?.epoch ?? 0;
      const { chain } = await load(smallPlan, head, world.blobs);
      const links = linksAfter(chain, head.chainSince) ?? [];
      older = links.filter(({ epoch }) => epoch <= baseEpoch);
      later = links.filter(({ epoch }) => epoch > baseEpoch);
    }
  });

  /** With a link that says something else. */
  async function restoredWith(changed: ChainLink | undefined, says: Partial<ChainChange>) {
    const { chain } = await load(smallPlan, head, world.blobs);
    const reference = head.base as NonNullable<Head['base']>;
    const base = decodeBase(await readBlob(world.blobs, SLICE, reference), SLICE, reference);
    const read = async (link: ChainLink) => {
      const change = await readLink(SLICE, link, world.blobs);
      return link.epoch === changed?.epoch ? { ...change, ...says } : change;
    };
    return buildFrom(smallPlan, base, chain, read, world.blobs);
  }

  it('goes by deltas that follow each other', async () => {
    expect(older.length).toBeGreaterThan(2);
    expect(later).toHaveLength(2);
    const { image } = await restoredWith(undefined, {});
    expect(image.progress.position).toEqual(head.cursor);
  });

  it.each([
    ['up to its base', () => older[1]],
    ['right after its base', () => later[0]],
    ['after its base', () => later[1]],
  ])('refuses a delta %s that goes on from another one', async (_, link) => {
    const { epoch } = link() as ChainLink;
    await expect(restoredWith(link(), { before: ANOTHER })).rejects.toThrow(
      `delta ${epoch} of ${SLICE} follows epoch 1, but what is read before it is epoch ${epoch - 1}`,
    );
    await expect(restoredWith(link(), { before: null })).rejects.toThrow('follows epoch 0, but');
  });

  it('refuses deltas that begin after the epoch of the oldest part', async () => {
    const before = { ...ANOTHER, epoch: head.chainSince + 1 };
    await expect(restoredWith(older[0], { before })).rejects.toThrow(
      `base ${baseEpoch} of ${SLICE} needs the deltas after epoch ${head.chainSince}, and they are not whole`,
    );
  });

  it("refuses deltas that do not lead to its base's own", async () => {
    await expect(restoredWith(older.at(-1), { nonce: 'another' })).rejects.toThrow(
      'and they are not whole',
    );
  });
});
