/**
 * Producers: they put records at the pace of the scenario, and put one again when its answer was lost, so that the stream has
 * it twice.
 */

import { encodeText } from '../core/bytes.ts';
import { HEARTBEAT_TEXT } from '../core/state/heartbeat.ts';
import type { Wire } from './connection.ts';
import { withHarm } from './harmful-record.ts';
import type { Random } from './random.ts';
import type { Scenario } from './scenario.ts';
import type { SimStream } from './sim-stream.ts';

export interface ProducedRecord {
  readonly partitionKey: string;
  readonly data: Uint8Array;
}

/** Makes the records of a simulation, one after the other; `nowMs` is the time at which this one is made. */
export type RecordGenerator = (random: Random, nowMs: number) => ProducedRecord;

const HEARTBEAT = encodeText(HEARTBEAT_TEXT);

/** Resolves when the last record is in the stream. */
export async function produce(
  scenario: Scenario,
  generate: RecordGenerator,
  stream: SimStream,
  { time, trace }: Wire,
  random: Random,
  epochMs: number,
): Promise<void> {
  const put = ({ partitionKey, data }: ProducedRecord, attempt: string) => {
    const { sequenceNumber } = stream.put(partitionKey, data, epochMs + time.nowMs);
    trace.add('producer', attempt, partitionKey, `at ${sequenceNumber.slice(-24)}`);
  };
  for (let count = 0; count < scenario.records; count++) {
    if (!random.chance(scenario.burstRate)) {
      await time.sleep(1 + random.below(2 * scenario.paceMs));
    }
    const beats = random.chance(scenario.heartbeatRate);
    const record = beats
      ? { partitionKey: `beat ${random.below(16)}`, data: HEARTBEAT }
      : generate(random, epochMs + time.nowMs);
    const harm = scenario.harmful.find(({ record: index }) => index === count)?.harm;
    if (harm !== undefined) {
      const data = withHarm(record.data, harm);
      put({ ...record, data }, `put one that ${harm}`);
      continue;
    }
    put(record, 'put');
    while (random.chance(scenario.producerRetryRate)) {
      await time.sleep(1 + random.below(2_000));
      put(record, 'put again');
    }
  }
}
