/**
 * The simulation itself: what one seed gives, what it refuses, and that it finds what is wrong.
 */
import { describe, expect, it } from 'vitest';
import { withoutReality } from '../../simulation/forbidden-reality.ts';
import type { RecordGenerator } from '../../simulation/producer.ts';
import { drawScenario, type Scenario } from '../../simulation/scenario.ts';
import { shrinkScenario } from '../../simulation/shrink.ts';
import { simulateSeed } from '../../simulation/simulation.ts';
import { smallPlan, smallRecords } from '../../simulation/small-pipeline.ts';

const plan = smallPlan;
const calm: Scenario = { ...drawScenario(1), callFaults: [], incidents: [] };

describe('a seed', () => {
  it('gives the same trace every time, and another seed another one', async () => {
    const run = (seed: number) => simulateSeed({ plan, records: smallRecords, seed });
    const [one, again, other] = [await run(11), await run(11), await run(12)];
    expect(again.traceHash).toBe(one.traceHash);
    expect(again.eventCount).toBe(one.eventCount);
    expect(other.traceHash).not.toBe(one.traceHash);
  });

  it('audits and asks in every run', async () => {
    const scenario = { ...calm, readers: 2 };
    const verdict = await simulateSeed({ plan, records: smallRecords, seed: 1, scenario });
    expect(verdict.failure).toBeNull();
    expect(verdict.auditedCount).toBeGreaterThan(10);
    expect(verdict.answerCount).toBeGreaterThan(10);
  });

  it('fails where a generator is not the same in both runs', async () => {
    let count = 0;
    const records = (): RecordGenerator => () => ({
      partitionKey: `key ${count++}`,
      data: new Uint8Array(),
    });
    const { failure } = await simulateSeed({ plan, records, seed: 1, scenario: calm });
    expect(failure?.kind).toBe('not deterministic');
  });

  it('fails where something asks the real world for chance', async () => {
    const records = (): RecordGenerator => () => ({
      partitionKey: String(Math.random()),
      data: new Uint8Array(),
    });
    const { failure } = await simulateSeed({ plan, records, seed: 1, scenario: calm });
    expect(failure?.detail).toContain('random in a simulation');
  });

  it('finds records that a slice lost, and that it stops there', async () => {
    const scenario: Scenario = {
      ...calm,
      shards: 1,
      records: 60,
      paceMs: 2_000,
      incidents: [
        { atMs: 40_000, kind: 'mapping-replaced', from: 'TRIM_HORIZON', afterMs: 30_000 },
        { atMs: 65_000, kind: 'trim-too-much' },
      ],
    };
    const verdict = await simulateSeed({ plan, records: smallRecords, seed: 1, scenario });
    expect(verdict.failure).toBeNull();
    expect(verdict.timeline.join('\n')).toContain('ReplayGapFault');
  });

  it('makes no mapping at LATEST beside one that another replacement made meanwhile', async () => {
    const scenario: Scenario = {
      ...calm,
      shards: 1,
      environments: 1,
      mappings: 1,
      records: 107,
      paceMs: 300,
      burstRate: 0,
      producerRetryRate: 0.3,
      heartbeatRate: 0.1,
      tickEveryMs: 300_000,
      batchRecordsMax: 5,
      batchWindowMs: 5_000,
      functionTimeoutMs: 3_000,
      redeliveryRate: 0.1,
      zombieRate: 0,
      resendRate: 0,
      readers: 0,
      auditEvery: 1,
      delayMsMax: 2,
      clockSkewMsMax: 0,
      shortReadRate: 0,
      emptyReadRate: 0,
      foldMs: 0,
      baseMs: 0,
      harmful: [],
      knobs: {},
      incidents: [
        { atMs: 14_107, kind: 'mapping-replaced', from: 'LATEST', afterMs: 41_971 },
        { atMs: 15_108, kind: 'split' },
        { atMs: 23_892, kind: 'mapping-replaced', from: 'TRIM_HORIZON', afterMs: 20_980 },
      ],
    };
    const verdict = await simulateSeed({ plan, records: smallRecords, seed: 88000518, scenario });
    expect(verdict.failure).toBeNull();
  });
});

describe('without reality', () => {
  it('clocks, timers and chance throw; dates of a time do not', async () => {
    await withoutReality(async () => {
      expect(() => Date.now()).toThrow('Date.now in a simulation');
      expect(() => new Date()).toThrow('new Date() in a simulation');
      expect(() => performance.now()).toThrow('now in a simulation');
      expect(() => Math.random()).toThrow('random in a simulation');
      expect(() => setTimeout(() => {}, 0)).toThrow('setTimeout in a simulation');
      expect(() => crypto.randomUUID()).toThrow('randomUUID in a simulation');
      expect(new Date(0).toISOString()).toBe('1970-01-01T00:00:00.000Z');
    });
  });

  it('everything is back afterwards, even after a fault', async () => {
    const before = [Date, setTimeout, Math.random, performance.now, crypto.randomUUID];
    await expect(
      withoutReality(async () => {
        throw new Error('broken');
      }),
    ).rejects.toThrow('broken');
    expect([Date, setTimeout, Math.random, performance.now, crypto.randomUUID]).toEqual(before);
    expect(Date.now()).toBeGreaterThan(0);
  });
});

describe('shrinking', () => {
  it('leaves what the failure needs, and nothing else', async () => {
    const failing: Scenario = {
      ...drawScenario(3),
      records: 100,
      callFaults: [
        { kind: 'crash', call: 'heads.', rate: 0.1 },
        { kind: 'slow', call: '', rate: 0.1 },
      ],
    };
    const smallest = await shrinkScenario(failing, 'wrong', async ({ records, callFaults }) =>
      records >= 17 && callFaults.some(({ kind }) => kind === 'crash') ? 'wrong' : null,
    );
    expect(smallest.records).toBe(17);
    expect(smallest.callFaults.map(({ kind }) => kind)).toEqual(['crash']);
    expect(smallest.incidents).toEqual([]);
    expect([smallest.readers, smallest.shards, smallest.environments]).toEqual([0, 1, 1]);
    expect(smallest.knobs).toEqual({});
  });

  it('does not take another failure for the same', async () => {
    const failing = { ...drawScenario(3), records: 100 };
    const smallest = await shrinkScenario(failing, 'wrong', async () => 'stuck');
    expect(smallest).toEqual(failing);
  });
});
