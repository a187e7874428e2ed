/**
 * What the aggregate function may be asked: to take a mapping's batch, or something of one slice.
 */
import { ConfigurationFault } from '../../core/faults.ts';
import type { KinesisEvent } from './kinesis-event.ts';

/** Asks something of one shard's slice: see `SliceTask`. */
export interface SliceEvent {
  readonly tidemark: 'checkpoint' | 'recover' | 'tick';
  readonly shardId: string;
  /** Of the recovery that this goes on with: what the answer before it named. */
  readonly generation?: number;
}

export type AggregateEvent = KinesisEvent | SliceEvent;

const ASKED = ['checkpoint', 'recover', 'tick'];

/** A caller that may invoke the function may send it anything. */
export function assertKnown(event: unknown): asserts event is AggregateEvent {
  const { tidemark, shardId, generation, Records } = (event ?? {}) as Record<string, unknown>;
  const isNumbered = generation === undefined || isCount(generation);
  const isAsked = ASKED.includes(tidemark as string) && typeof shardId === 'string' && isNumbered;
  const isBatch =
    Array.isArray(Records) && Records.every((record) => record?.kinesis && record.eventID);
  if (isAsked || (tidemark === undefined && isBatch)) return;
  throw new ConfigurationFault(
    'the event is neither records of a Kinesis stream nor a request of ours',
    {
      hint: 'only the event source mapping, admin and tick may invoke this function',
    },
  );
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
