import { describe, expect, it } from 'vitest';
import { type Base, decodeBase } from '../../../core/checkpoint/base.ts';
import { readBlob } from '../../../core/checkpoint/blobs.ts';
import type { IdsPart, KeptIds } from '../../../core/checkpoint/manifest.ts';
import type { BlobReference } from '../../../core/checkpoint/names.ts';
import { buildFrom, load, readDelta } from '../../../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import { CorruptStateFault, InvariantFault } from '../../../core/faults.ts';
import type { Knobs } from '../../../core/knobs.ts';
import {
  IdModel,
  type IdPolicy,
  type IdRecord,
  idPlan,
  idRecord,
  idsOf,
} from '../../world/id-model.ts';
import { SLICE } from '../../world/small-log.ts';
import { PLENTY, TaskWorld } from '../task/task-fixture.ts';

const BY_ID: IdPolicy = { field: 'id', withinMs: 60_000 };
const ID = 24;
/** A base with each second commit; parts of up to ten ids, of which a base writes about as many. */
const KNOBS = {
  mergeFanIn: 1_000,
  chainLengthMax: 2,
  partBytesMax: 10 * ID,
  partBytesMinToRewrite: 10 * ID,
};

/** One id a second. */
const LOG = Array.from({ length: 400 }, (_, index) => idRecord(index, 1_000 * index));

class IdWorld extends TaskWorld {
  readonly #log: readonly IdRecord[];
  plan: Plan;
  readonly model: IdModel;

  constructor(log: readonly IdRecord[], knobs: Partial<Knobs>) {
    super(log, knobs);
    this.#log = log;
    this.plan = idPlan(BY_ID);
    this.model = new IdModel(BY_ID);
  }

  static async of(log: readonly IdRecord[], knobs: Partial<Knobs>): Promise<IdWorld> {
    const world = new IdWorld(log, knobs);
    await world.activate(world.plan);
    return world;
  }

  async deliver(from: number, to: number, step = 4): Promise<void> {
    const task = this.task({}, { plan: this.plan, decoder: createJsonDecoder(this.plan) });
    for (let at = from; at < to; at += step) {
      const end = Math.min(to, at + step);
      await task.deliver(this.batch(at, end), PLENTY);
      for (const record of this.#log.slice(at, end)) this.model.take(record);
    }
  }

  async change(policy: IdPolicy | null): Promise<void> {
    this.plan = idPlan(policy);
    await this.activate(this.plan);
    this.model.change(policy);
    await this.task({}, { plan: this.plan, decoder: createJsonDecoder(this.plan) }).tick(PLENTY);
  }

  async loaded() {
    return load(this.plan, await this.head(), this.blobs);
  }

  async ids(): Promise<KeptIds> {
    return (await this.loaded()).manifest.ids;
  }

  /** What HEAD's base and chain give when the base is read as `change` has it. */
  async readAs(change: (ids: KeptIds) => KeptIds): Promise<unknown> {
    const head = await this.head();
    const bytes = await readBlob(this.blobs, SLICE, head.base!);
    const base = decodeBase(bytes, SLICE, head.base!);
    const manifest = { ...base.manifest, ids: change(base.manifest.ids) };
    const { chain } = await this.loaded();
    const read = (delta: BlobReference) => readDelta(SLICE, delta, this.blobs);
    const changed: Base = { ...base, manifest };
    return buildFrom(this.plan, changed, chain, read, this.blobs);
  }
}

const bytesOf = (parts: readonly IdsPart[]) =>
  parts.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
const writtenIn = ({ parts }: KeptIds, epoch: number | undefined) =>
  parts.filter(({ bytes }) => bytes.pack.epoch === epoch);

describe('the ids of a base', () => {
  it('are those that came since the base before, however many there are', async () => {
    const world = await IdWorld.of(LOG, KNOBS);
    const sizes: number[] = [];
    for (let at = 0; at < 400; at += 8) {
      await world.deliver(at, at + 8);
      const ids = await world.ids();
      sizes.push(bytesOf(writtenIn(ids, (await world.head()).base?.epoch)));
      expect(idsOf((await world.loaded()).image)).toBe(world.model.kept());
    }
    // Of 65 that are kept: four came with each of two commits.
    expect(new Set(sizes.slice(10))).toEqual(new Set([8 * ID]));
    expect(world.model.folded).toBe(400);
  });

  it('go as whole parts once all of them have expired, and nothing is written for it', async () => {
    const world = await IdWorld.of(LOG, KNOBS);
    await world.deliver(0, 400);
    const { image, manifest } = await world.loaded();
    const { parts } = manifest.ids;
    expect(parts.length).toBeGreaterThan(6);
    for (const { newestMs } of parts) expect(newestMs).toBeGreaterThan(image.expiredMs);
    expect(bytesOf(parts)).toBeLessThan((65 + 10) * ID);
  });

  it('come in few parts: small neighbours become one, and each id is written two or three times', async () => {
    const knobs = { ...KNOBS, partBytesMax: 1_000, partBytesMinToRewrite: 300, idPartsMax: 6 };
    const log = LOG.map((record) => ({ ...record, t: record.t / 10 }));
    const world = await IdWorld.of(log, knobs);
    let writtenBytes = 0;
    let partsMax = 0;
    for (let at = 0; at < 400; at += 4) {
      await world.deliver(at, at + 4, 2);
      const ids = await world.ids();
      partsMax = Math.max(partsMax, ids.parts.length);
      writtenBytes += bytesOf(writtenIn(ids, (await world.head()).base?.epoch));
      expect(idsOf((await world.loaded()).image)).toBe(world.model.kept());
    }
    expect(partsMax).toBeLessThan(6 + 1 + (400 * ID) / 500);
    expect(writtenBytes).toBeGreaterThan(400 * ID);
    expect(writtenBytes).toBeLessThan(3 * 400 * ID);
  });
});

describe('another dedupe policy', () => {
  it('writes no ids anew, and what has expired by then is not known again', async () => {
    // Half of those that come again were still known when `within` changed.
    const again = LOG.slice(210, 260).map(({ id }) => idRecord(id, 300_000));
    const world = await IdWorld.of([...LOG.slice(0, 300), ...again], KNOBS);
    await world.deliver(0, 300);
    const before = await world.ids();
    await world.change({ ...BY_ID, withinMs: 600_000 });
    const after = await world.ids();
    const known = before.parts.map(({ bytes }) => bytes);
    const kept = after.parts.filter(({ bytes }) =>
      known.some((each) => each.offset === bytes.offset && each.pack.epoch === bytes.pack.epoch),
    );
    expect(kept.length).toBeGreaterThan(5);
    expect(after.parts.length - kept.length).toBeLessThan(2);
    await world.deliver(300, 350);
    expect([world.model.folded, world.model.duplicates]).toEqual([325, 25]);
    expect((await world.loaded()).image.progress.counts).toMatchObject({
      folded: 325,
      duplicates: 25,
    });
    expect(idsOf((await world.loaded()).image)).toBe(world.model.kept());
  });

  it('of another field lists none of the ids of before', async () => {
    const world = await IdWorld.of(LOG, KNOBS);
    await world.deliver(0, 200);
    await world.change({ ...BY_ID, field: 'other' });
    const { epoch } = await world.head();
    expect(await world.ids()).toEqual({ after: epoch - 1, until: epoch, parts: [] });
    await world.deliver(200, 240);
    expect(idsOf((await world.loaded()).image)).toBe(world.model.kept());
    await world.change(null);
    expect((await world.ids()).parts).toEqual([]);
  });
});

describe('ids of a manifest', () => {
  it.each([
    ['lacks one of the parts', (parts: readonly IdsPart[]) => parts.toSpliced(2, 1)],
    ['lacks the first part', (parts: readonly IdsPart[]) => parts.slice(1)],
    ['lacks the last part', (parts: readonly IdsPart[]) => parts.slice(0, -1)],
    ['lists a part twice', (parts: readonly IdsPart[]) => [...parts, ...parts.slice(-1)]],
  ])('are refused where it %s', async (_, change) => {
    const world = await IdWorld.of(LOG, KNOBS);
    await world.deliver(0, 60);
    const read = world.readAs((ids) => ({ ...ids, parts: change(ids.parts) }));
    await expect(read).rejects.toThrow(InvariantFault);
    await expect(read).rejects.toThrow('id-parts-leave-no-epoch-out');
  });

  it.each([
    ['more ids', (part: IdsPart) => ({ ...part, entryCount: part.entryCount + 1 })],
    ['fewer ids', (part: IdsPart) => ({ ...part, entryCount: part.entryCount - 1 })],
    ['another latest time', (part: IdsPart) => ({ ...part, newestMs: part.newestMs + 1 })],
  ])('are refused where a part has %s than the manifest says', async (_, change) => {
    const world = await IdWorld.of(LOG, KNOBS);
    await world.deliver(0, 60);
    const read = world.readAs((ids) => {
      return { ...ids, parts: ids.parts.map((part, at) => (at === 1 ? change(part) : part)) };
    });
    await expect(read).rejects.toThrow(CorruptStateFault);
  });

  it('are refused where they began in another epoch than the state says', async () => {
    const world = await IdWorld.of(LOG, KNOBS);
    await world.deliver(0, 60);
    const read = world.readAs((ids) => ({ ...ids, after: 1, parts: [] }));
    await expect(read).rejects.toThrow('id-parts-leave-no-epoch-out');
  });
});
