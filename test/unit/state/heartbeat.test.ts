/** Heartbeats move the watermark by their arrival, as one record of the log among others. */
import { describe, expect, it } from 'vitest';
import { ByteReader } from '../../../core/bytes.ts';
import type { StreamRecord } from '../../../core/ports.ts';
import { totalRecords } from '../../../core/state/counters.ts';
import { HEARTBEAT_TEXT, isHeartbeat } from '../../../core/state/heartbeat.ts';
import { SliceImage } from '../../../core/state/slice-image.ts';
import type { SliceState } from '../../../core/state/slice-state.ts';
import { ARRIVAL_MS, emptyState, planOf, recordAt, rowsOf } from './fold-fixture.ts';

const LATENESS_MS = 5_000;
const IDLE_MS = 20_000;

const planWith = (time: Record<string, unknown>) =>
  planOf({
    name: 'p',
    time: { field: 't', lateness: '5s', ...time },
    views: {
      w: { late: 'drop', window: { tumbling: '10s' }, aggregates: { records: { count: '*' } } },
    },
  });

const plan = planWith({ idle: '20s' });

/** A heartbeat that arrives so long after the others. */
const beatAt = (index: number, afterMs: number): StreamRecord => ({
  ...recordAt(index, HEARTBEAT_TEXT),
  arrivalMs: ARRIVAL_MS + afterMs,
});

const eventAt = (index: number, t: number) => recordAt(index, { t });

function foldedAll(records: readonly StreamRecord[], under = plan): SliceState {
  const state = emptyState(under);
  for (const record of records) state.fold(record);
  return state;
}

describe('a heartbeat', () => {
  const watermarkAfter = (...afterMs: number[]) =>
    foldedAll(afterMs.map((after, index) => beatAt(index, after))).progress.watermarkMs;
  const passed = (afterMs: number) => ARRIVAL_MS + afterMs - LATENESS_MS - IDLE_MS;
  const DAY_MS = 86_400_000;

  it('lets the watermark go to its arrival, less lateness and idle bound, once a second one confirms the first', () => {
    const state = foldedAll([beatAt(0, 7), beatAt(1, 10_007)]);
    expect(watermarkAfter(7)).toBe(Number.NEGATIVE_INFINITY);
    expect(watermarkAfter(7, 10_007)).toBe(passed(7));
    expect(watermarkAfter(7, 10_007, 20_007)).toBe(passed(20_007));
    expect(state.progress.counts).toMatchObject({ heartbeats: 2, folded: 0, quarantined: 0 });
    expect(state.progress.digest.count).toBe(2);
    expect(totalRecords(state.progress.counts)).toBe(2);
  });

  it('counts at once up to the idle bound after those before it, and further when the next one comes', () => {
    expect(watermarkAfter(0, 10_000, 20_000)).toBe(passed(20_000));
    // Heartbeats that are further apart than the bound count one later.
    expect(watermarkAfter(0, 60_000, 120_000)).toBe(passed(60_000));
    expect(watermarkAfter(0, 60_000, 120_000, 180_000)).toBe(passed(120_000));
    // None came for a day.
    expect(watermarkAfter(0, 10_000, DAY_MS)).toBe(passed(10_000));
    expect(watermarkAfter(0, 10_000, DAY_MS, DAY_MS + 10_000)).toBe(passed(DAY_MS));
  });

  it('stamped by a clock that was a day ahead for one heartbeat closes nothing', () => {
    const before = watermarkAfter(0, 10_000, 20_000, 30_000);
    expect(watermarkAfter(0, 10_000, 20_000, 30_000, DAY_MS)).toBe(before);
    expect(watermarkAfter(0, 10_000, 20_000, 30_000, DAY_MS, 40_000)).toBe(passed(40_000));
    expect(watermarkAfter(0, 60_000, DAY_MS, 120_000, 180_000)).toBe(passed(120_000));
    // Twice at one moment is once; as the first of all, too.
    expect(watermarkAfter(0, 10_000, DAY_MS, DAY_MS + 4_999)).toBe(passed(10_000));
    expect(watermarkAfter(DAY_MS, 10_000)).toBe(Number.NEGATIVE_INFINITY);
    expect(watermarkAfter(DAY_MS, 10_000, 20_000)).toBe(passed(10_000));
  });

  it('is not confirmed where a record after it arrived earlier', () => {
    const recordAtArrival = (index: number, afterMs: number) => ({
      ...eventAt(index, 1_000),
      arrivalMs: ARRIVAL_MS + afterMs,
    });
    const state = foldedAll([
      beatAt(0, 0),
      beatAt(1, 10_000),
      beatAt(2, DAY_MS),
      recordAtArrival(3, 15_000),
      beatAt(4, DAY_MS + 10_000),
    ]);
    expect(state.progress.watermarkMs).toBe(passed(15_000));
  });

  it('never takes the watermark back', () => {
    const state = foldedAll([eventAt(0, ARRIVAL_MS), beatAt(1, 10), beatAt(2, 5_010)]);
    expect(state.progress.watermarkMs).toBe(ARRIVAL_MS - LATENESS_MS);
  });

  it('says nothing of event times: a view that begins later does not begin later for it', () => {
    const state = foldedAll([eventAt(0, 50_000), beatAt(1, 500_000), beatAt(2, 510_000)]);
    expect(state.progress.newestMs).toBe(50_000);
  });

  it('closes windows, and what comes for them then is late', () => {
    const start = ARRIVAL_MS;
    const closesMs = 10_000 + LATENESS_MS + IDLE_MS;
    for (const [afterMs, late] of [
      [closesMs - 1, 0],
      [closesMs, 1],
    ] as const) {
      const beats = [beatAt(1, afterMs - 10_000), beatAt(2, afterMs - 5_000), beatAt(3, afterMs)];
      const state = foldedAll([eventAt(0, start), ...beats, eventAt(4, start + 1)]);
      expect(state.progress.counts).toMatchObject({ folded: 2 - late, late, heartbeats: 3 });
      state.commit();
      expect(state.image.openEntryCount).toBe(1 - late);
    }
  });

  it('means the same in a replay, however it is cut into epochs', () => {
    const log = [
      eventAt(0, ARRIVAL_MS),
      beatAt(1, 10_000),
      beatAt(2, 20_000),
      eventAt(3, ARRIVAL_MS + 5_000),
      beatAt(4, 30_000),
      beatAt(5, 36_000),
      eventAt(6, ARRIVAL_MS + 2_000),
      beatAt(7, 90_000),
    ];
    const whole = foldedAll(log);
    const image = new SliceImage(plan);
    const cut = emptyState(plan);
    for (const record of log) {
      cut.fold(record);
      image.apply(new ByteReader(cut.encodeDelta().bytes));
      cut.commit();
    }
    expect(cut.encodeWhole()).toEqual(whole.encodeWhole());
    expect(image.encode()).toEqual(whole.encodeWhole());
    expect(cut.progress.counts).toMatchObject({ heartbeats: 5, folded: 2, late: 1 });
    expect(rowsOf(cut)).toEqual(rowsOf(whole));
  });

  it('moves nothing where the pipeline names no idle bound, as after a rollback', () => {
    const state = foldedAll([beatAt(0, 0)], planWith({}));
    expect(state.progress.counts).toMatchObject({ heartbeats: 1, quarantined: 0 });
    expect(state.progress.watermarkMs).toBe(Number.NEGATIVE_INFINITY);
    expect(state.quarantined).toEqual([]);
  });

  it('is known by all of its bytes', () => {
    const bytes = (text: string) => new TextEncoder().encode(text);
    expect(isHeartbeat(bytes(HEARTBEAT_TEXT))).toBe(true);
    for (const text of ['', ` ${HEARTBEAT_TEXT}`, `${HEARTBEAT_TEXT} `, HEARTBEAT_TEXT.slice(1)]) {
      expect(isHeartbeat(bytes(text))).toBe(false);
    }
    expect(isHeartbeat(bytes(HEARTBEAT_TEXT.replace('heartbeat', 'heartbeaT')))).toBe(false);
  });

  it('that killed its environment is quarantined like any record', () => {
    const state = emptyState(plan);
    state.fold(beatAt(0, 0), { reason: 'kills-its-environment', detail: '' });
    expect(state.progress.counts).toMatchObject({ heartbeats: 0, quarantined: 1 });
  });
});
