/** Records that come back to a slice's state, and the ledger that says which may. */
import { describe, expect, it } from 'vitest';
import { compareBytes } from '../../../core/bytes.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { RecordDecoder } from '../../../core/decode/record-decoder.ts';
import { sortablePosition } from '../../../core/position.ts';
import { totalRecords } from '../../../core/state/counters.ts';
import { encodeGroupKey } from '../../../core/state/group-key.ts';
import { ledgerStanding } from '../../../core/state/ledger-standing.ts';
import {
  isLedgerKeyOf,
  ledgerKeyRange,
  parseLedgerKey,
} from '../../../core/state/quarantine-ledger.ts';
import { SliceImage } from '../../../core/state/slice-image.ts';
import { SliceState } from '../../../core/state/slice-state.ts';
import { SHARD } from '../../world/small-log.ts';
import { closedOf, emptyState, planOf, recordAt, rowsOf } from './fold-fixture.ts';

const AGGREGATES = { records: { count: '*' }, total: { sum: 'n' } };
const WINDOW = { window: { tumbling: '10s' } };

const plan = planOf({
  name: 'p',
  time: { field: 't', lateness: '5s', skew: 'none' },
  dedupe: { id: 'id', within: '1m' },
  views: {
    aside: { late: 'side', ...WINDOW, aggregates: AGGREGATES },
    aside_too: { late: 'side', groupBy: ['key'], ...WINDOW, aggregates: AGGREGATES },
    dropped: { late: 'drop', ...WINDOW, aggregates: AGGREGATES },
    updated: { late: 'update', ...WINDOW, aggregates: AGGREGATES },
    for_ever: { aggregates: AGGREGATES },
  },
});

/** Only views that put late records aside, so that such a record is in no answer. */
const asidePlan = planOf({
  name: 'p',
  time: { field: 't', lateness: '5s', skew: 'none' },
  dedupe: { id: 'id', within: '1m' },
  views: {
    aside: { late: 'side', ...WINDOW, aggregates: AGGREGATES },
    aside_too: { late: 'side', groupBy: ['key'], ...WINDOW, aggregates: AGGREGATES },
  },
});

const event = (id: number, t: number) => ({ id, t, key: 'k', n: id });

/** Too strict until it is told to be lenient. */
function correctable(under: typeof plan): RecordDecoder & { lenient: boolean } {
  const decoder = createJsonDecoder(under);
  return {
    lenient: false,
    decode(data, fields) {
      const bad = decoder.decode(data, fields);
      if (this.lenient || !new TextDecoder().decode(data).includes('"id":2,')) return bad;
      return { reason: 'wrong-type', detail: 'too strict' };
    },
  };
}

/** Record 1 (id 2) was quarantined as a whole; the watermark has passed its window, and the code is better now. */
function corrected(committed: boolean): SliceState {
  const decoder = correctable(plan);
  const state = emptyState(plan, decoder);
  const log = [event(1, 1_000), event(2, 2_000), event(3, 30_000)];
  for (const [index, each] of log.entries()) {
    state.fold(recordAt(index, each));
    if (committed) state.commit();
  }
  expect(state.progress.counts).toMatchObject({ folded: 2, quarantined: 1 });
  decoder.lenient = true;
  return state;
}

const BACK = recordAt(1, event(2, 2_000));

describe.each([
  ['whose entries are not committed', false],
  ['whose entries are closed ones of the image', true],
])('a record that was quarantined as a whole, %s', (_, committed) => {
  it('folds into every view that selects it, whatever their policy for late ones', () => {
    const state = corrected(committed);
    expect(state.redrive(BACK, [])).toEqual({ outcome: 'redriven' });
    expect(state.progress.counts).toMatchObject({ folded: 3, quarantined: 0 });
    const rows = rowsOf(state);
    for (const view of ['aside', 'dropped', 'updated']) expect(rows[view]?.['@0']).toEqual([2, 3]);
    expect(rows['aside_too']?.['k@0']).toEqual([2, 3]);
    expect(rows['for_ever']?.['@0']).toEqual([3, 6]);
  });

  it('moves neither position nor watermark, newest time or digest', () => {
    const state = corrected(committed);
    const { position, watermarkMs, newestMs, digest } = state.progress;
    const before = digest.value();
    state.redrive(BACK, []);
    expect(state.progress).toMatchObject({ position, watermarkMs, newestMs });
    expect(state.progress.digest.value()).toEqual(before);
    expect(totalRecords(state.progress.counts)).toBe(state.progress.digest.count);
  });

  it('of a far time moves the newest time by a day after its arrival at most', () => {
    const decoder = correctable(plan);
    const state = emptyState(plan, decoder);
    const outlier = recordAt(1, event(2, 4_102_444_800_000));
    for (const each of [recordAt(0, event(1, 1_000)), outlier]) state.fold(each);
    if (committed) state.commit();
    decoder.lenient = true;
    expect(state.redrive(outlier, []).outcome).toBe('redriven');
    expect(state.progress.newestMs).toBe(outlier.arrivalMs + 24 * 3_600_000);
    expect(state.progress.highMs).toBe(1_000);
  });

  it('comes back once, in this epoch and in later ones', () => {
    const state = corrected(committed);
    state.redrive(BACK, []);
    expect(state.redrive(BACK, [])).toEqual({ outcome: 'came-back' });
    state.commit();
    expect(state.redrive(BACK, [])).toEqual({ outcome: 'came-back' });
    expect(state.progress.counts).toMatchObject({ folded: 3, quarantined: 0 });
  });

  it('waits again where the epoch was not committed', () => {
    const state = corrected(committed);
    if (!committed) state.commit();
    state.redrive(BACK, []);
    state.undo();
    expect(state.progress.counts).toMatchObject({ folded: 2, quarantined: 1 });
    expect(state.redrive(BACK, [])).toEqual({ outcome: 'redriven' });
  });
});

describe('a record that was quarantined by some views', () => {
  const late = recordAt(2, event(9, 3_000));

  function withLate(under: typeof plan): SliceState {
    const state = emptyState(under);
    state.fold(recordAt(0, event(1, 1_000)));
    state.fold(recordAt(1, event(2, 30_000)));
    state.fold(late);
    return state;
  }

  it('folds into those and no others, and stays counted where it was', () => {
    const state = withLate(plan);
    expect(state.progress.counts).toMatchObject({ folded: 3, quarantined: 0 });
    expect(state.progress.partlyQuarantined).toBe(1);
    expect(state.redrive(late, [])).toEqual({ outcome: 'redriven' });
    expect(state.progress.partlyQuarantined).toBe(0);
    state.commit();
    expect(state.redrive(late, [])).toEqual({ outcome: 'came-back' });
    expect(state.progress.partlyQuarantined).toBe(0);
    expect(state.progress.counts).toMatchObject({ folded: 3, quarantined: 0, duplicates: 0 });
    const rows = rowsOf(state);
    expect(rows['aside']?.['@0']).toEqual([2, 10]);
    expect(rows['aside_too']?.['k@0']).toEqual([2, 10]);
    expect(rows['dropped']?.['@0']).toEqual([1, 1]);
    expect(rows['updated']?.['@0']).toEqual([2, 10]);
    expect(rows['for_ever']?.['@0']).toEqual([3, 12]);
  });

  it('that were all of its views counts as quarantined until then', () => {
    const state = withLate(asidePlan);
    expect(state.progress.counts).toMatchObject({ folded: 2, quarantined: 1 });
    state.redrive(late, []);
    expect(state.progress.partlyQuarantined).toBe(0);
    expect(state.progress.counts).toMatchObject({ folded: 3, quarantined: 0 });
    expect(state.redrive(late, [])).toEqual({ outcome: 'came-back' });
  });

  it('is a duplicate if its event was sent again and has folded meanwhile', () => {
    const decoder = correctable(asidePlan);
    const state = emptyState(asidePlan, decoder);
    state.fold(recordAt(0, event(2, 1_000)));
    decoder.lenient = true;
    state.fold(recordAt(1, event(2, 1_000)));
    expect(state.progress.counts).toMatchObject({ folded: 1, quarantined: 1 });
    expect(state.redrive(recordAt(0, event(2, 1_000)), [])).toEqual({ outcome: 'redriven' });
    expect(state.progress.counts).toMatchObject({ folded: 1, quarantined: 0, duplicates: 1 });
    expect(rowsOf(state)['aside']?.['@0']).toEqual([1, 2]);
  });
});

describe('what is not redriven', () => {
  it('is a record that was never quarantined', () => {
    const state = corrected(true);
    expect(state.redrive(recordAt(0, event(1, 1_000)), [])).toEqual({ outcome: 'not-put-aside' });
    expect(state.redrive(recordAt(7, event(1, 1_000)), [])).toEqual({ outcome: 'not-put-aside' });
  });

  it('is one that is still bad, and nothing changes', () => {
    const state = emptyState(plan);
    state.fold(recordAt(0, '{'));
    state.commit();
    const before = state.encodeDelta().bytes;
    const result = state.redrive(recordAt(0, '{'), []);
    expect(result).toMatchObject({ outcome: 'still-bad', bad: { reason: 'not-json' } });
    expect(state.encodeDelta().bytes).toEqual(before);
  });
});

describe('the ledger', () => {
  const record = { shardId: SHARD, sequenceNumber: '77', subSequence: 3 };
  const keyOf = (view: string | null, of = record) =>
    encodeGroupKey([of.shardId, sortablePosition(of), view]);

  it('finds all entries of one record by a range of keys, and no other record’s', () => {
    const { from, to } = ledgerKeyRange(record);
    const isIn = (key: Uint8Array) => compareBytes(key, from) >= 0 && compareBytes(key, to) < 0;
    for (const view of [null, 'a', 'z'.repeat(64)]) {
      expect(isIn(keyOf(view))).toBe(true);
      expect(isLedgerKeyOf(record, keyOf(view))).toBe(true);
      const place = sortablePosition(record);
      expect(parseLedgerKey(keyOf(view))).toEqual({ shardId: SHARD, place, view });
    }
    for (const other of [
      { ...record, subSequence: 2 },
      { ...record, subSequence: 4 },
      { ...record, sequenceNumber: '76' },
      { ...record, sequenceNumber: '770' },
      { ...record, shardId: 'shardId-000000000001' },
      { ...record, shardId: `${SHARD}0` },
      { ...record, shardId: SHARD.slice(0, -1) },
    ]) {
      expect(isIn(keyOf(null, other))).toBe(false);
      expect(isLedgerKeyOf(record, keyOf('a', other))).toBe(false);
    }
  });

  it('tells records of one number apart by their shards, in memory, in what follows and in runs', () => {
    const other = 'shardId-000000000001';
    const state = corrected(true);
    expect(state.redrive({ ...BACK, shardId: other }, [])).toEqual({ outcome: 'not-put-aside' });
    // What another shard's slice had quarantined under the same number, as it would be inherited.
    const theirs = new SliceState(new SliceImage(plan), correctable(plan), other);
    theirs.fold(recordAt(0, event(1, 1_000)));
    theirs.fold(BACK);
    theirs.commit();
    const inherited = closedOf(theirs).at(-1)!;
    expect(state.redrive(BACK, [])).toEqual({ outcome: 'redriven' });
    expect(state.redrive({ ...BACK, shardId: other }, inherited)).toEqual({ outcome: 'redriven' });
    for (const shardId of [SHARD, other]) {
      expect(state.redrive({ ...BACK, shardId }, [])).toEqual({ outcome: 'came-back' });
    }
    state.commit();
    const recent = state.image.recentLedger;
    const shardsOf = (shardId: string) =>
      recent.entriesOf({ ...BACK, shardId }).map(({ key }) => parseLedgerKey(key).shardId);
    expect(new Set(shardsOf(SHARD))).toEqual(new Set([SHARD]));
    expect(new Set(shardsOf(other))).toEqual(new Set([other]));
    expect(shardsOf('shardId-000000000002')).toEqual([]);
  });

  it('says what waits out of entries in any number of places', () => {
    const state = corrected(true);
    const entries = () => closedOf(state).at(-1)!;
    expect(ledgerStanding(entries())).toEqual({
      waiting: [null],
      counted: true,
      cameBack: false,
    });
    // As a run has them: asked for with nothing in memory.
    const stored = entries();
    state.image.forgetLate();
    expect(state.redrive(BACK, stored)).toEqual({ outcome: 'redriven' });
    expect(state.redrive(BACK, stored)).toEqual({ outcome: 'came-back' });
    expect(ledgerStanding([...stored, ...entries()])).toEqual({
      waiting: [],
      counted: false,
      cameBack: true,
    });
    expect(ledgerStanding([])).toEqual({ waiting: [], counted: false, cameBack: false });
  });
});
