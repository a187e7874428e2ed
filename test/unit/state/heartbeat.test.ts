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
  it('lets the watermark go to its arrival, less lateness and idle bound', () => {
    const state = foldedAll([beatAt(0, 7)]);
    expect(state.progress.watermarkMs).toBe(ARRIVAL_MS + 7 - LATENESS_MS - IDLE_MS);
    expect(state.progress.counts).toMatchObject({ heartbeats: 1, folded: 0, quarantined: 0 });
    expect(state.progress.digest.count).toBe(1);
    expect(totalRecords(state.progress.counts)).toBe(1);
  });

  it('never takes the watermark back', () => {
    const state = foldedAll([eventAt(0, ARRIVAL_MS), beatAt(1, 10)]);
    expect(state.progress.watermarkMs).toBe(ARRIVAL_MS - LATENESS_MS);
  });

  it('says nothing of event times: a view that begins later does not begin later for it', () => {
    const state = foldedAll([eventAt(0, 50_000), beatAt(1, 500_000)]);
    expect(state.progress.newestMs).toBe(50_000);
  });

  it('closes windows, and what comes for them then is late', () => {
    const start = ARRIVAL_MS;
    const closesMs = 10_000 + LATENESS_MS + IDLE_MS;
    for (const [afterMs, late] of [
      [closesMs - 1, 0],
      [closesMs, 1],
    ] as const) {
      const state = foldedAll([eventAt(0, start), beatAt(1, afterMs), eventAt(2, start + 1)]);
      expect(state.progress.counts).toMatchObject({ folded: 2 - late, late, heartbeats: 1 });
      state.commit();
      expect(state.image.closed[0]).toHaveLength(late);
    }
  });

  it('means the same in a replay, however it is cut into epochs', () => {
    const log = [
      eventAt(0, ARRIVAL_MS),
      beatAt(1, 20_000),
      eventAt(2, ARRIVAL_MS + 5_000),
      beatAt(3, 36_000),
      eventAt(4, ARRIVAL_MS + 2_000),
      beatAt(5, 90_000),
    ];
    const whole = foldedAll(log);
    const image = new SliceImage(plan);
    const cut = emptyState(plan);
    for (const record of log) {
      cut.fold(record);
      image.apply(new ByteReader(cut.encodeDelta()));
      cut.commit();
    }
    expect(cut.encodeBase()).toEqual(whole.encodeBase());
    expect(image.encode()).toEqual(whole.encodeBase());
    expect(cut.progress.counts).toMatchObject({ heartbeats: 3, folded: 2, late: 1 });
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

  it('that killed its environment is put aside like any record', () => {
    const state = emptyState(plan);
    state.fold(beatAt(0, 0), { reason: 'kills-its-environment', detail: '' });
    expect(state.progress.counts).toMatchObject({ heartbeats: 0, quarantined: 1 });
  });
});
