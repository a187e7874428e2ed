/**
 * What an invocation of the real aggregate function uses: a live stream of flights goes through its handler in batches, each
 * to one of several environments at random, over stores that note what AWS would charge.
 */
import { Aggregator } from '../../core/aggregator.ts';
import { createJsonDecoder } from '../../core/decode/json-decoder.ts';
import type { Plan } from '../../core/definition/plan.ts';
import { DELTA_ITEM_BYTES_MAX, INVOCATION_MS_MAX, RETENTION_GRACE_MS } from '../../core/limits.ts';
import type { RecordSource, StreamRecord } from '../../core/ports.ts';
import type { Position } from '../../core/position.ts';
import { createAggregateHandler } from '../../functions/aggregate/handler.ts';
import { type KinesisEvent, kinesisEventRecord } from '../../functions/aggregate/kinesis-event.ts';
import { observed } from '../../functions/aggregate/observed.ts';
import { createTelemetry } from '../../functions/powertools-telemetry.ts';
import { Random } from '../../simulation/random.ts';
import type { InvocationTime, InvocationUsage } from './cost-model.ts';
import { COUNTED_GRACE_MS, CountedPorts } from './counted-ports.ts';
import { LogMeter } from './log-meter.ts';
import { chargesOf, itemByteLength, listingCharges } from './store-calls.ts';

export interface MeasuredUsage extends InvocationUsage {
  readonly invocations: number;
  readonly deltaBytes: number;
  readonly baseBytes: number;
  readonly bases: number;
  readonly restores: number;
}

const SHARD = 'shardId-000000000000';
const ORIGIN = { stream: 'flights', shardId: SHARD, region: 'us-east-1', role: 'aggregate' };
/** As long as Lambda's are. */
const CONTEXT = {
  awsRequestId: '00000000-0000-4000-8000-000000000000',
  getRemainingTimeInMillis: () => INVOCATION_MS_MAX,
};
/** Until what is kept for a time (ids, objects within their grace) has come to its steady size. */
const WARM_UP_SHARE = 0.5;

export async function measureUsage(
  plan: Plan,
  records: readonly StreamRecord[],
  batchCount: number,
  environmentCount: number,
): Promise<MeasuredUsage> {
  const counted = new CountedPorts(new ArraySource(records));
  const { memory } = counted;
  await memory.plans.activate({ ordinal: 1, hash: plan.hash, pipeline: '{}' });
  const handlers = Array.from({ length: environmentCount }, () =>
    observed(
      createAggregateHandler(new Aggregator(plan, createJsonDecoder(plan), counted.ports)),
      createTelemetry(plan.name),
      memory.clock,
    ),
  );
  const log = new LogMeter();
  const times: InvocationTime[] = [];
  const random = new Random('cost');
  const sizes = watchSizes(counted);
  let restores = 0;
  let isWarm = false;
  for (let from = 0; from < records.length; from += batchCount) {
    if (!isWarm && from >= records.length * WARM_UP_SHARE) {
      isWarm = true;
      counted.reset();
      sizes.reset();
      times.length = 0;
      [log.byteCount, restores] = [0, 0];
    }
    const batch = records.slice(from, from + batchCount);
    memory.clock.set(batch.at(-1)?.arrivalMs ?? 0);
    const text = JSON.stringify({
      Records: batch.map((record) => kinesisEventRecord(record, ORIGIN)),
    });
    const handler = handlers[random.below(environmentCount)];
    if (handler === undefined) throw new Error('there is no environment');
    const [roundsBefore, before] = [{ ...counted.rounds }, process.cpuUsage()];
    const event: KinesisEvent = JSON.parse(text);
    const [report] = await log.during(() => handler(event, CONTEXT));
    const { user, system } = process.cpuUsage(before);
    times.push({
      cpuMs: (user + system) / 1_000,
      dynamodbRounds: counted.rounds.dynamodb - roundsBefore.dynamodb,
      s3Rounds: counted.rounds.s3 - roundsBefore.s3,
    });
    restores += report?.restored ?? 0;
  }
  const invocations = times.length;
  const spanMs = (records.at(-1)?.arrivalMs ?? 0) - (records[0]?.arrivalMs ?? 0);
  const commitMs = (spanMs * batchCount) / records.length;
  const { deltaBytes, baseBytes, bases } = sizes.means();
  const kept = keptBlobs(deltaBytes, baseBytes, bases / invocations, commitMs);
  const charges = chargesOf(counted.calls);
  const listing = listingCharges(counted.listings, kept);
  const listed = collectionsShare((commitMs * invocations) / bases);
  return {
    invocations,
    charges: {
      writeUnits: charges.writeUnits / invocations,
      readUnits: (charges.readUnits + listed * listing.readUnits) / invocations,
      puts: (charges.puts + listed * listing.puts) / invocations,
      gets: charges.gets / invocations,
    },
    times,
    logBytes: log.byteCount / invocations,
    itemBytes: kept.itemBytes,
    objectBytes: kept.objectBytes,
    objectBytesCreated:
      (deltaBytes > DELTA_ITEM_BYTES_MAX ? deltaBytes : 0) + (bases * baseBytes) / invocations,
    deltaBytes,
    baseBytes,
    bases,
    restores,
  };
}

/** Collections that there are for each of those that were counted: one a grace, when the next base is written. */
function collectionsShare(baseMs: number): number {
  const everyMs = (graceMs: number) => baseMs * Math.ceil(graceMs / baseMs);
  return everyMs(COUNTED_GRACE_MS) / everyMs(RETENTION_GRACE_MS);
}

/** A floor is between one and two graces old before what lies below it goes. */
const GRACES_KEPT = 1.5;

/** What the stores hold at a time, with the grace that is the default. */
function keptBlobs(deltaBytes: number, baseBytes: number, baseShare: number, commitMs: number) {
  const commits = (GRACES_KEPT * RETENTION_GRACE_MS) / commitMs;
  const isItem = deltaBytes <= DELTA_ITEM_BYTES_MAX;
  const bases = commits * baseShare + 2;
  return {
    itemBytes: isItem ? commits * itemByteLength(deltaBytes) : 0,
    objectBytes: (isItem ? 0 : commits * deltaBytes) + bases * baseBytes,
    objectCount: (isItem ? 0 : commits) + bases,
  };
}

function watchSizes(counted: CountedPorts) {
  let byKind: Record<string, number[]> = {};
  for (const store of [counted.memory.blobs.items, counted.memory.blobs.objects]) {
    const create = store.create.bind(store);
    store.create = (key, bytes) => {
      const kind = key.split('/')[1] ?? '';
      byKind[kind] = [...(byKind[kind] ?? []), bytes.length];
      return create(key, bytes);
    };
  }
  const mean = (lengths: readonly number[]) =>
    lengths.length === 0 ? 0 : lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  return {
    reset: () => {
      byKind = {};
    },
    means: () => {
      const { delta = [], base = [] } = byKind;
      return { deltaBytes: mean(delta), baseBytes: mean(base), bases: base.length };
    },
  };
}

/** The records themselves, for what is read again. */
class ArraySource implements RecordSource {
  readonly #records: readonly StreamRecord[];
  readonly #places: ReadonlyMap<string, number>;

  constructor(records: readonly StreamRecord[]) {
    this.#records = records;
    this.#places = new Map(records.map(({ sequenceNumber }, place) => [sequenceNumber, place]));
  }

  async readAfter(_: string, after: Position, limit: number) {
    const from = (this.#places.get(after.sequenceNumber) ?? -1) + 1;
    const records = this.#records.slice(from, from + limit);
    return {
      outcome: 'records' as const,
      origin: 'stream' as const,
      records,
      reachedTip: from + limit >= this.#records.length,
    };
  }
}
