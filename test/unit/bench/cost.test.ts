import { describe, expect, it } from 'vitest';
import {
  answerAge,
  batchRecords,
  bucketKeyMonthlyDollars,
  type CostSettings,
  flinkMonthlyDollars,
  type InvocationUsage,
  invocationSeconds,
  monthlyCost,
  totalOf,
  writePerRecordMonthlyDollars,
} from '../../../bench/cost/cost-model.ts';
import { LogMeter } from '../../../bench/cost/log-meter.ts';
import { chargesOf, checkpointCalls, listingCharges } from '../../../bench/cost/store-calls.ts';

const KIB = 1024;
/** A month of 730 h has 2,628,000 s. */
const MONTH_S = 2_628_000;

const settings: CostSettings = {
  recordsPerSecond: 1_000,
  recordBytes: 100,
  batchWindowMs: 5_000,
  memoryMb: 1_769,
  retentionDays: 7,
};

const usage: InvocationUsage = {
  charges: { writeUnits: 1, readUnits: 1, puts: 1, gets: 7 },
  // 287 ms each: 170 ms of work, 2 × 6 ms of DynamoDB, 3 × 35 ms of S3.
  times: [
    { cpuMs: 100, dynamodbRounds: 2, s3Rounds: 3 },
    { cpuMs: 240, dynamodbRounds: 2, s3Rounds: 3 },
  ],
  logBytes: 1_657,
  objectBytesCreated: 300_000,
  itemBytes: 0,
  objectBytes: 1_000_000_000,
};

describe('a checkpoint', () => {
  it.each([
    ['a small delta', 100, 1 + 1, 0],
    ['just under 8 KB', 8_000, 8 + 1, 0],
    // Keys and names of attributes come to the 8 KiB of the blob.
    ['the largest that is an item', 8 * KIB, 9 + 1, 0],
    ['one byte more', 8 * KIB + 1, 1, 1],
    ['9 KB', 9_000, 1, 1],
    ['1 MB', 1_000_000, 1, 1],
  ])('of %s', (_, deltaBytes, writeUnits, puts) => {
    expect(chargesOf(checkpointCalls(deltaBytes))).toEqual({
      writeUnits,
      puts,
      readUnits: 0,
      gets: 0,
    });
  });
});

describe('calls of the stores', () => {
  it('are charged in whole units: 1 KiB written, 4 KiB read', () => {
    const at = (call: 'read' | 'write', byteLength: number) =>
      chargesOf([{ to: 'dynamodb', call, byteLength }]);

    expect([0, KIB, KIB + 1].map((bytes) => at('write', bytes).writeUnits)).toEqual([1, 1, 2]);
    expect([0, 4 * KIB, 4 * KIB + 1].map((bytes) => at('read', bytes).readUnits)).toEqual([
      1, 1, 2,
    ]);
    expect(at('read', 1).writeUnits + at('write', 1).readUnits).toBe(0);
  });

  it('of a rebase by seven deltas are one read and seven gets', () => {
    const calls = Array.from({ length: 7 }, () => ({ to: 's3', call: 'get' }) as const);

    expect(chargesOf([{ to: 'dynamodb', call: 'read', byteLength: KIB }, ...calls])).toEqual({
      writeUnits: 0,
      readUnits: 1,
      puts: 0,
      gets: 7,
    });
  });

  it('of a listing are a page of objects each, and the items that are passed over', () => {
    const of = (itemBytes: number, objectCount: number) =>
      listingCharges({ dynamodb: 1, s3: 1 }, { itemBytes, objectCount });

    expect(of(0, 0)).toEqual({ readUnits: 4, puts: 1 });
    expect(of(0, 1_000).puts).toBe(1);
    expect(of(0, 1_001).puts).toBe(2);
    expect(of(400 * KIB, 0).readUnits).toBe(100);
  });
});

describe('a batch', () => {
  it.each([
    ['what the window brings', {}, 5_000],
    ['what Lambda takes at most', { batchWindowMs: 60_000, recordBytes: 20 }, 10_000],
    ['what its payload holds', { batchWindowMs: 10_000, recordBytes: 1_000 }, 3_358],
    ['one record at least', { recordsPerSecond: 0.01 }, 1],
  ])('is %s', (_, other, count) => {
    expect(batchRecords({ ...settings, ...other })).toBe(count);
  });
});

describe('a month', () => {
  const lines = monthlyCost(settings, usage);
  const of = (scope: string, service: string, what: string) => {
    const found = lines.find((line) => {
      return line.scope === scope && line.service === service && line.what === what;
    });
    if (found === undefined) throw new Error(`there is no line ${scope} ${service} ${what}`);
    return found;
  };
  const invocations = MONTH_S / 5;

  it('has no cost outside its lines', () => {
    const sum = lines.reduce((total, { units, price }) => total + units * price, 0);

    expect(totalOf(lines, 'kinesis', 'shard', 'pipeline')).toBeCloseTo(sum, 9);
    expect(
      totalOf(lines, 'kinesis') + totalOf(lines, 'shard') + totalOf(lines, 'pipeline'),
    ).toBeCloseTo(sum, 9);
    for (const { dollars } of lines) expect(dollars).toBeGreaterThanOrEqual(0);
  });

  it.each([
    ['kinesis', 'Kinesis', 'shard', 730, 10.95],
    ['kinesis', 'Kinesis', 'records put', 2_628, 36.792],
    ['kinesis', 'Kinesis', 'retention', 730, 14.6],
    ['shard', 'DynamoDB', 'writes', 0.5256, 0.3285],
    // One a minute.
    ['shard', 'DynamoDB', "ticks' ages", 0.0438, 0.027375],
    // One each invocation, and three each minute.
    ['shard', 'DynamoDB', 'reads', 0.657, 0.082125],
    ['shard', 'S3', 'writes', 525.6, 2.628],
    ['shard', 'S3', 'reads', 3_679.2, 1.47168],
    ['shard', 'S3', 'storage', 1, 0.023],
    // 17,280 invocations a day, of 300 kB each, for two days and on average half of one.
    ['shard', 'S3', 'deleted versions', 12.96, 0.29808],
    // Every five minutes, by each credentials: mapping and tick, and a producer.
    ['shard', 'KMS', "the readers' data keys", 17.52, 0.05256],
    ['kinesis', 'KMS', "a producer's data keys", 8.76, 0.02628],
    // 569,400 invocations, of 1,657 B and 343 B of Lambda's own.
    ['shard', 'CloudWatch', 'logs', 1.1388, 0.5694],
    ['shard', 'CloudWatch', 'logs kept', 0.17082, 0.0051246],
    // Ticks are invocations too.
    ['shard', 'Lambda', 'requests', 0.5694, 0.11388],
    ['pipeline', 'CloudWatch', 'metrics', 19, 5.7],
  ] as const)('for each %s: %s %s, %d units', (scope, service, what, units, dollars) => {
    expect(of(scope, service, what).units).toBeCloseTo(units, 6);
    expect(of(scope, service, what).dollars).toBeCloseTo(dollars, 6);
  });

  it('charges time on a core and time of waiting, and a part of a core takes longer', () => {
    expect(invocationSeconds(settings, usage)).toBeCloseTo(0.287, 9);
    expect(invocationSeconds({ ...settings, memoryMb: 1_769 / 2 }, usage)).toBeCloseTo(0.457, 9);
    expect(invocationSeconds({ ...settings, memoryMb: 3_538 }, usage)).toBeCloseTo(0.287, 9);
    const gbSeconds = (invocations * 0.287 + 43_800 * 0.2) * (1_769 / 1_024);
    expect(of('shard', 'Lambda', 'compute').units).toBeCloseTo(gbSeconds, 3);
  });

  it('knows no version of what is an item, and none that is not deleted', () => {
    const small = monthlyCost(settings, { ...usage, objectBytesCreated: 0 });

    expect(small.find(({ what }) => what === 'deleted versions')?.dollars).toBe(0);
  });

  it('with the begin line in the log is dearer by its bytes', () => {
    const longer = monthlyCost(settings, { ...usage, logBytes: usage.logBytes + 400 });

    // 569,400 times 400 B for $0.50 a GB, and 15 % of them kept for a month for $0.03.
    expect(totalOf(longer, 'shard') - totalOf(lines, 'shard')).toBeCloseTo(0.11490492, 8);
  });

  it('with a longer window costs less of everything that is paid by the batch', () => {
    const longer = monthlyCost({ ...settings, batchWindowMs: 10_000, recordBytes: 20 }, usage);

    expect(totalOf(longer, 'shard')).toBeLessThan(totalOf(lines, 'shard'));
    expect(totalOf(longer, 'pipeline')).toBe(totalOf(lines, 'pipeline'));
  });

  it('keeps a day of records without a charge', () => {
    const day = monthlyCost({ ...settings, retentionDays: 1 }, usage);

    expect(totalOf(lines, 'kinesis') - totalOf(day, 'kinesis')).toBeCloseTo(14.6, 9);
  });
});

describe('an answer', () => {
  it('is half a batch and an invocation old at the median, a batch and the slowest at worst', () => {
    expect(answerAge(settings, usage).medianMs).toBeCloseTo(2_500 + 287, 6);
    expect(answerAge(settings, usage).worstMs).toBeCloseTo(5_000 + 357, 6);
  });

  it('is no older in a longer window than a full batch makes it', () => {
    const full = { ...settings, recordBytes: 1_024 };
    const longer = { ...full, batchWindowMs: 60_000 };

    // 3,302 records of 1 KiB fill what Lambda takes.
    expect(answerAge(longer, usage)).toEqual(answerAge(full, usage));
    expect(answerAge(full, usage).worstMs).toBeCloseTo(3_302 + 357, 6);
    expect(totalOf(monthlyCost(longer, usage), 'shard')).toBe(
      totalOf(monthlyCost(full, usage), 'shard'),
    );
  });

  it('is older on a part of a core', () => {
    const slow = answerAge({ ...settings, memoryMb: 1_769 / 2 }, usage);

    expect(slow.medianMs).toBeCloseTo(2_500 + 457, 6);
    expect(slow.worstMs).toBeCloseTo(5_000 + 597, 6);
  });
});

it("a bucket's own key without bucket keys is asked for each PUT and GET", () => {
  // 525,600 invocations of 8 calls, $0.03 for 10,000.
  expect(bucketKeyMonthlyDollars(settings, usage)).toBeCloseTo(12.6144, 6);
});

it('what a function logs is counted, each line with what CloudWatch adds, and shown no more', async () => {
  const meter = new LogMeter();
  const { write } = process.stdout;

  const result = await meter.during(async () => {
    process.stdout.write('ä\n');
    process.stdout.write('four');
    return 7;
  });
  expect(result).toBe(7);
  expect(meter.byteCount).toBe(3 + 4 + 2 * 26);
  await expect(meter.during(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(process.stdout.write).toBe(write);
});

it('elsewhere is priced by the same hours', () => {
  expect(flinkMonthlyDollars(1)).toBeCloseTo(2 * 730 * 0.11 + 5, 9);
  expect(writePerRecordMonthlyDollars(1_000, 1)).toBeCloseTo(1_642.5, 9);
});
