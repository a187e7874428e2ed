/**
 * The pipeline that several benches fold: amounts by device, with count, sum, min and max.
 */
import { parsePlan } from '../../core/definition/parse-plan.ts';
import type { Plan } from '../../core/definition/plan.ts';
import type { StreamRecord } from '../../core/ports.ts';

/** `extra` are further settings of the pipeline, `ofView` of its view. */
export function devicePlan(extra: object = {}, ofView: object = {}): Plan {
  const parsed = parsePlan(devicesPipeline(extra, ofView));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

/** The same as a pipeline file has it. */
export function devicesPipeline(extra: object = {}, ofView: object = {}): object {
  return {
    name: 'bench',
    time: { field: 't', skew: 'none' },
    ...extra,
    views: {
      by_device: {
        ...ofView,
        groupBy: ['device'],
        aggregates: {
          records: { count: '*' },
          total: { sum: 'amount' },
          least: { min: 'amount' },
          most: { max: 'amount' },
        },
      },
    },
  };
}

/** The record at a place of the stream. */
export function streamRecord(sequence: number, data: Uint8Array): StreamRecord {
  return {
    sequenceNumber: String(49_000_000_000_000 + sequence),
    subSequence: 0,
    partitionKey: 'p',
    arrivalMs: 0,
    data,
  };
}

const encoder = new TextEncoder();

/** A record of one device, whose name has so many digits. */
export function deviceRecord(
  sequence: number,
  device: number,
  digits: number,
  timeMs = 1_700_000_000_000 + sequence,
): StreamRecord {
  const text = JSON.stringify({
    t: timeMs,
    device: `device-${String(device).padStart(digits, '0')}`,
    amount: device % 1000,
  });
  return streamRecord(sequence, encoder.encode(text));
}
