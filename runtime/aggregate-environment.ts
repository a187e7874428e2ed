/**
 * The thread of one environment of the aggregate function: what Lambda's event source mapping and runtime do around the
 * handler, and the handler itself. Records are read here, by position, so that they need not cross threads.
 */
import { workerData } from 'node:worker_threads';
import { Aggregator } from '../core/aggregator.ts';
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import type { PipelineJson } from '../core/definition/pipeline-json.ts';
import { INVOCATION_PAYLOAD_BYTES_MAX } from '../core/limits.ts';
import type { StreamRecord } from '../core/ports.ts';
import type { Position } from '../core/position.ts';
import type { SliceEvent } from '../functions/aggregate/aggregate-event.ts';
import { createAggregateHandler } from '../functions/aggregate/handler.ts';
import {
  type KinesisEvent,
  type KinesisEventRecord,
  kinesisEventRecord,
} from '../functions/aggregate/kinesis-event.ts';
import { serveInvocations } from './invocation.ts';
import { openLocalPorts } from './local-ports.ts';
import { planOf } from './plan-data.ts';

export interface EnvironmentData {
  readonly pipeline: PipelineJson;
  readonly dataFolder: string;
  readonly region: string;
  /** Of memory, for the state of one slice: Node's limits of a thread know nothing of what lies outside its heap. */
  readonly sliceBytesMax: number;
}

export type AggregatePayload =
  /** Deliver what follows a position, up to `limit` records. */
  | {
      readonly kind: 'records';
      readonly shardId: string;
      readonly after: Position;
      readonly limit: number;
    }
  | {
      readonly kind: SliceEvent['tidemark'];
      readonly shardId: string;
      /** See `SliceEvent.generation`. */
      readonly generation?: number;
    };

export type AggregateAnswer =
  | {
      readonly outcome: 'delivered';
      readonly count: number;
      readonly last: Position;
      readonly rewoundTo: number | null;
      /** See `DeliveryReport`. */
      readonly lostParts: number;
    }
  /** Nothing follows the position. */
  | { readonly outcome: 'nothing' }
  /** Records after the position are gone. */
  | { readonly outcome: 'trimmed' }
  /** A checkpoint, a recovery or a tick. */
  | {
      readonly outcome: 'done';
      readonly epoch: number;
      readonly rewoundTo: number | null;
      /** See `DeliveryReport`. */
      readonly lostParts: number;
      /** See `DeliveryReport`. */
      readonly generation: number | null;
      /** A tick or a recovery left work that the next one can do at once. */
      readonly isUnfinished: boolean;
    };

/** What stands around a record's data in the event that Lambda brings, about. */
const ENVELOPE_BYTES = 500;

const data = workerData as EnvironmentData;
const plan = planOf(data.pipeline);
const ports = await openLocalPorts(data.dataFolder);
const bounds = { sliceBytesMax: data.sliceBytesMax };
const handler = createAggregateHandler(
  new Aggregator(plan, createJsonDecoder(plan), ports, bounds),
);

serveInvocations(async (payload, { timeLeftMs }): Promise<AggregateAnswer> => {
  const request = payload as AggregatePayload;
  const context = { getRemainingTimeInMillis: timeLeftMs };
  if (request.kind !== 'records') {
    const { kind: tidemark, ...asked } = request;
    const [report] = await handler({ tidemark, ...asked }, context);
    return {
      outcome: 'done',
      epoch: report?.epoch ?? 0,
      rewoundTo: report?.rewoundTo ?? null,
      lostParts: report?.lostParts ?? 0,
      generation: report?.generation ?? null,
      isUnfinished: report?.isUnfinished ?? false,
    };
  }
  const read = await ports.source.readAfter(request.shardId, request.after, request.limit);
  if (read.outcome !== 'records') return { outcome: 'trimmed' };
  const event = eventOf(request.shardId, read.records);
  const count = event.Records.length;
  const last = read.records[count - 1];
  if (last === undefined) return { outcome: 'nothing' };
  const [report] = await handler(event, context);
  const { rewoundTo = null, lostParts = 0 } = report ?? {};
  const { sequenceNumber, subSequence } = last;
  const position = { sequenceNumber, subSequence };
  return { outcome: 'delivered', count, last: position, rewoundTo, lostParts };
});

/** As many of the records as one invocation's payload takes. */
function eventOf(shardId: string, records: readonly StreamRecord[]): KinesisEvent {
  const { region } = data;
  const origin = { stream: plan.stream, shardId, region, role: 'tidemark-dev' };
  const Records: KinesisEventRecord[] = [];
  let payloadBytes = 0;
  for (const record of records) {
    const made = kinesisEventRecord(record, origin);
    const { data: base64, partitionKey } = made.kinesis;
    payloadBytes += base64.length + partitionKey.length + ENVELOPE_BYTES;
    if (payloadBytes > INVOCATION_PAYLOAD_BYTES_MAX && Records.length > 0) break;
    Records.push(made);
  }
  return { Records };
}
