import { describe, expect, it } from 'vitest';
import { HeldFault, TransientFault } from '../../../core/faults.ts';
import type { DeliveryReport } from '../../../core/task/delivery-report.ts';
import type { AggregateEvent } from '../../../functions/aggregate/aggregate-event.ts';
import { createAggregateHandler } from '../../../functions/aggregate/handler.ts';
import { kinesisEventRecord } from '../../../functions/aggregate/kinesis-event.ts';
import { observed } from '../../../functions/aggregate/observed.ts';
import { TrialTelemetry } from './trial-telemetry.ts';

const NOW_MS = 1_800_000_000_000;
const clock = { nowMs: () => NOW_MS };
const context = { getRemainingTimeInMillis: () => 1_000, awsRequestId: 'request-1' };
const REPORT: DeliveryReport = {
  folded: 2,
  replayed: 3,
  restored: 1,
  commits: 1,
  refused: 4,
  savedBytes: 567,
  savedEntries: 8,
  writeMs: 30,
  headMs: 4,
  generation: null,
  quarantined: 5,
  late: 6,
  possibleGap: { after: '3', before: '11' },
  rewoundTo: null,
  lostParts: 0,
  isUnfinished: false,
  epoch: 7,
};
const origin = { stream: 's', shardId: 'shardId-000000000003', region: 'r', role: 'r' };
const EVENT: AggregateEvent = {
  Records: ['11', '12'].map((sequenceNumber) =>
    kinesisEventRecord(
      {
        sequenceNumber,
        subSequence: 0,
        partitionKey: 'k',
        arrivalMs: NOW_MS - 250,
        data: new Uint8Array(1),
      },
      origin,
    ),
  ),
};

describe('the aggregate function, observed', () => {
  it('measures what a delivery did, and logs which slice it was', async () => {
    const telemetry = new TrialTelemetry();
    await observed(async () => [REPORT], telemetry, clock)(EVENT, context);

    expect(Object.fromEntries(telemetry.metrics)).toEqual({
      RecordsFolded: 2,
      RecordsReplayed: 3,
      RecordsQuarantined: 5,
      RecordsLate: 6,
      Restores: 1,
      Commits: 1,
      CommitsRefused: 4,
      CheckpointBytes: 567,
      GapsPossible: 1,
      BehindMs: 250,
    });
    const [begin] = telemetry.lines.splice(0, 1);
    expect(begin).toMatchObject({
      message: 'deliver begins',
      details: { shardId: 'shardId-000000000003', from: '11', to: '12' },
    });
    expect(telemetry.lines).toMatchObject([
      {
        message: 'deliver',
        details: {
          shardId: 'shardId-000000000003',
          slice: 'slice-000000000003',
          records: 2,
          from: '11',
          to: '12',
          reports: [REPORT],
        },
      },
    ]);
    expect(telemetry.published).toBe(1);
  });

  it('names shard and request before anything is done, so that a death has a name', async () => {
    const telemetry = new TrialTelemetry();
    // What is killed returns nothing, and throws nothing.
    void observed(() => new Promise(() => {}), telemetry, clock)(EVENT, context);
    expect(telemetry.requestId).toBe('request-1');
    expect(telemetry.lines).toMatchObject([
      { message: 'deliver begins', details: { shardId: 'shardId-000000000003', records: 2 } },
    ]);
  });

  it('says nothing of being behind where no record came', async () => {
    const telemetry = new TrialTelemetry();
    const tick: AggregateEvent = { tidemark: 'tick', shardId: origin.shardId };
    await observed(async () => [REPORT], telemetry, clock)(tick, context);
    expect(telemetry.metrics.has('BehindMs')).toBe(false);
    expect(telemetry.lines.map(({ message }) => message)).toEqual(['tick begins', 'tick']);
  });

  it('measures no age where its clock is behind the records, and takes no time from it', async () => {
    const telemetry = new TrialTelemetry();
    let nowMs = NOW_MS;
    const set = async () => {
      nowMs -= 3_600_000;
      return [REPORT];
    };
    await observed(set, telemetry, { nowMs: () => nowMs })(EVENT, context);
    expect(telemetry.metrics.has('BehindMs')).toBe(false);
    const [, { details }] = telemetry.lines as unknown as [
      unknown,
      { details: { tookMs: number } },
    ];
    expect(details.tookMs).toBeGreaterThanOrEqual(0);
  });

  it.each([
    ['Faults', new TransientFault('busy', { hint: 'wait' })],
    ['Held', new HeldFault('another plan')],
    ['Faults', 'not even an error'],
  ])('counts among %s what is thrown, tells of it and throws it', async (metric, error) => {
    const telemetry = new TrialTelemetry();
    const failing = observed(() => Promise.reject(error), telemetry, clock);
    await expect(failing(EVENT, context)).rejects.toBe(error);
    expect(Object.fromEntries(telemetry.metrics)).toEqual({ [metric]: 1 });
    expect(telemetry.lines[1]).toMatchObject({ message: 'deliver failed', error });
    expect(telemetry.published).toBe(1);
  });

  it.each([
    ['nothing', null],
    ['an empty object', {}],
    ['a queue’s message', { Records: [{ messageId: '1', body: '{}' }] }],
    ['a request without a shard', { tidemark: 'tick' }],
    ['a request for what an object has anyway', { tidemark: 'constructor', shardId: 's' }],
  ])('refuses %s by name, and counts it', async (_, event) => {
    const telemetry = new TrialTelemetry();
    const handler = createAggregateHandler({} as never);
    const asked = observed(handler, telemetry, clock)(event as never, context);
    await expect(asked).rejects.toMatchObject({ name: 'ConfigurationFault' });
    expect(telemetry.metrics.get('Faults')).toBe(1);
    expect(telemetry.published).toBe(1);
  });
});
