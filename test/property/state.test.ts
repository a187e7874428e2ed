import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader } from '../../core/bytes.ts';
import type { StreamRecord } from '../../core/ports.ts';
import type { ClosedEntry } from '../../core/state/closed-entries.ts';
import { drainClosing } from '../../core/state/closing.ts';
import { totalRecords } from '../../core/state/counters.ts';
import { SliceImage } from '../../core/state/slice-image.ts';
import type { SliceState } from '../../core/state/slice-state.ts';
import { DigestRecount } from '../../simulation/recount-digest.ts';
import { closedOf, emptyState, mergedText } from '../unit/state/fold-fixture.ts';
import {
  insideKinesisRecords,
  randomLog,
  recount,
  SHARD,
  smallPlan,
  toStreamRecord,
} from '../world/small-log.ts';

const anySeed = fc.integer({ min: 1, max: 1 << 20 });
/** What happens after a record: mostly nothing, or a commit, or a commit with a base. */
const anyCuts = fc.array(fc.constantFrom('fold', 'fold', 'fold', 'commit', 'base', 'drop'), {
  minLength: 5,
  maxLength: 40,
});
const LENGTH = 120;

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

function scratch(records: readonly StreamRecord[]): SliceState {
  const state = emptyState(smallPlan);
  for (const record of records) state.fold(record);
  return state;
}

/** An owner that commits, a reader that follows its deltas, and one that came from the newest base. */
class Followers {
  readonly owner = emptyState(smallPlan);
  reader = new SliceImage(smallPlan);
  restored = new SliceImage(smallPlan);
  /** What runs hold: the closed entries before the newest base. */
  readonly inRuns: ClosedEntry[][] = smallPlan.views.map(() => []);

  commit(withBase: boolean): void {
    const { owner, reader } = this;
    const expectedEntryCount = owner.openEntryCount;
    const delta = owner.encodeDelta().bytes;
    const base = owner.encodeWhole();
    const closed = closedOf(owner);
    owner.commit();
    for (const image of [reader, this.restored]) {
      const bytes = new ByteReader(delta);
      image.apply(bytes);
      bytes.end();
    }
    expect(hex(owner.image.encode())).toBe(hex(base));
    expect(owner.image.openEntryCount).toBe(expectedEntryCount);
    expect(owner.openEntryCount).toBe(expectedEntryCount);
    const expectedClosed = mergedText(smallPlan, closed);
    expect(mergedText(smallPlan, closedOf(owner.image))).toEqual(expectedClosed);
    for (const image of [reader, this.restored]) {
      expect(hex(image.encode())).toBe(hex(base));
      expect(image.progress.digest.equals(owner.progress.digest)).toBe(true);
      expect(mergedText(smallPlan, closedOf(image))).toEqual(expectedClosed);
    }
    if (!withBase) return;
    for (const [view, entries] of closed.entries()) this.inRuns[view]?.push(...entries);
    const { bounds } = drainClosing(owner.image, Number.POSITIVE_INFINITY);
    for (const image of [owner.image, reader]) {
      image.forgetLate();
      for (const [view, bound] of bounds.entries()) image.forgetDrained(view, bound);
    }
    this.restored = new SliceImage(smallPlan);
    this.restored.apply(new ByteReader(base));
  }

  allClosed(): ClosedEntry[][] {
    const since = closedOf(this.owner);
    return this.inRuns.map((entries, view) => [...entries, ...(since[view] as ClosedEntry[])]);
  }
}

describe('the state of a slice', () => {
  it('is the fold of its records, wherever epochs and bases are cut', () => {
    fc.assert(
      fc.property(anySeed, anyCuts, (seed, cuts) => {
        const records = randomLog(LENGTH, seed).map(toStreamRecord);
        const all = new Followers();
        let committed = 0;
        for (let index = 0; index < records.length; index++) {
          all.owner.fold(records[index] as StreamRecord);
          const cut = cuts[index % cuts.length];
          if (cut === 'drop') {
            all.owner.undo();
            for (const record of records.slice(committed, index + 1)) all.owner.fold(record);
          }
          if (cut !== 'commit' && cut !== 'base') continue;
          all.commit(cut === 'base');
          committed = index + 1;
        }
        const straight = scratch(records);
        expect(hex(all.owner.encodeWhole())).toBe(hex(straight.encodeWhole()));
        expect(mergedText(smallPlan, all.allClosed())).toEqual(
          mergedText(smallPlan, closedOf(straight)),
        );
        expect(all.owner.openEntryCount).toBe(straight.openEntryCount);
      }),
      { numRuns: 40 },
    );
  });

  it('is the same in every prefix, whether it was committed after each record or never', () => {
    const records = randomLog(80, 11).map(toStreamRecord);
    const all = new Followers();
    for (const [index, record] of records.entries()) {
      all.owner.fold(record);
      all.commit(index % 7 === 3);
      const straight = scratch(records.slice(0, index + 1));
      expect(hex(all.owner.image.encode())).toBe(hex(straight.encodeWhole()));
      expect(mergedText(smallPlan, all.allClosed())).toEqual(
        mergedText(smallPlan, closedOf(straight)),
      );
    }
  });

  it('gives each record exactly one class, the one of a plain recount', () => {
    fc.assert(
      fc.property(anySeed, (seed) => {
        const log = randomLog(LENGTH, seed);
        const state = scratch(log.map(toStreamRecord));
        const { counts, inQuarantine } = recount(log);
        expect(state.progress.counts).toEqual(counts);
        expect(totalRecords(state.progress.counts)).toBe(state.progress.recordCount);
        expect(state.progress.recordCount).toBe(log.length);
        expect(state.quarantined.map(({ sequenceNumber }) => sequenceNumber)).toEqual(inQuarantine);
      }),
      { numRuns: 200 },
    );
  });

  it('is the same however many records are inside a Kinesis record; the digest is that of an archive', () => {
    const anySizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(anySeed, anySizes, anyCuts, (seed, sizes, cuts) => {
        const plain = randomLog(LENGTH, seed).map(toStreamRecord);
        const records = insideKinesisRecords(plain, sizes);
        const state = emptyState(smallPlan);
        for (const [index, record] of records.entries()) {
          state.fold(record);
          if (state.isWhole && cuts[index % cuts.length] === 'commit') state.commit();
        }
        const { counts, recordCount, digest } = state.progress;
        const straight = scratch(plain);
        expect(counts).toEqual(straight.progress.counts);
        expect(state.openEntryCount).toBe(straight.openEntryCount);
        expect(mergedText(smallPlan, closedOf(state))).toEqual(
          mergedText(smallPlan, closedOf(straight)),
        );
        expect(recordCount).toBe(LENGTH);
        const archive = records.filter(({ subSequence }) => subSequence === 0);
        const expected = new DigestRecount().at(SHARD, archive, archive.length);
        expect(digest.value()).toEqual(expected);
      }),
      { numRuns: 40 },
    );
  });

  it('is what it was before, once what was folded is undone', () => {
    fc.assert(
      fc.property(anySeed, fc.nat({ max: LENGTH }), (seed, cut) => {
        const records = randomLog(LENGTH, seed).map(toStreamRecord);
        const state = scratch(records.slice(0, cut));
        state.commit();
        const [image, closed] = [
          hex(state.image.encode()),
          mergedText(smallPlan, closedOf(state.image)),
        ];
        const idle = hex(state.encodeDelta().bytes);
        for (const record of records.slice(cut)) state.fold(record);
        state.encodeDelta().bytes;
        state.undo();
        expect(hex(state.image.encode())).toBe(image);
        expect(hex(state.encodeWhole())).toBe(image);
        expect(hex(state.encodeDelta().bytes)).toBe(idle);
        expect(mergedText(smallPlan, closedOf(state))).toEqual(closed);
        expect(state.quarantined).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  it('is the same where records are folded while a commit is under way, whether that is applied or lost', () => {
    const anyEnds = fc.array(
      fc.tuple(fc.constantFrom('applied', 'lost', 'lost-and-undone'), fc.nat({ max: 9 })),
      {
        minLength: 1,
        maxLength: 8,
      },
    );
    fc.assert(
      fc.property(anySeed, anyEnds, (seed, ends) => {
        const records = randomLog(LENGTH, seed).map(toStreamRecord);
        const state = emptyState(smallPlan);
        const follower = emptyState(smallPlan).image;
        let at = 0;
        let committed = 0;
        for (let round = 0; at < records.length && round < 60; round++) {
          const [end, overlap] = ends[round % ends.length] as [
            'applied' | 'lost' | 'lost-and-undone',
            number,
          ];
          for (const record of records.slice(at, at + 5)) state.fold(record);
          at = Math.min(records.length, at + 5);
          const sealed = hex(state.encodeWhole());
          const { bytes } = state.encodeDelta();
          state.seal();
          const folded = records.slice(at, at + overlap);
          for (const record of folded) state.fold(record);
          expect(hex(state.encodeWhole())).toBe(
            hex(scratch(records.slice(0, at + folded.length)).encodeWhole()),
          );
          if (end === 'lost-and-undone') {
            state.reopen();
            state.undo();
            at = committed;
            expect(hex(state.encodeWhole())).toBe(hex(follower.encode()));
            continue;
          }
          committed = at;
          if (end === 'lost') {
            state.reopen();
            expect(hex(state.encodeWhole())).toBe(sealed);
            expect(hex(state.encodeDelta().bytes)).toBe(hex(bytes));
            state.commit();
          } else {
            state.commit();
            at += folded.length;
          }
          follower.apply(new ByteReader(bytes), { foreign: false, epoch: round + 1 });
          expect(hex(follower.encode())).toBe(sealed);
        }
        for (const record of records.slice(at)) state.fold(record);
        state.commit();
        const straight = scratch(records);
        expect(hex(state.encodeWhole())).toBe(hex(straight.encodeWhole()));
        expect(mergedText(smallPlan, closedOf(state))).toEqual(
          mergedText(smallPlan, closedOf(straight)),
        );
        expect(state.progress.counts).toEqual(straight.progress.counts);
      }),
      { numRuns: 60 },
    );
  });
});
