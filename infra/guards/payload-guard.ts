/**
 * A batch must fit in one invocation: Lambda sends records base64-encoded, four bytes for three.
 */
import { BATCH_RECORDS_MAX, INVOCATION_PAYLOAD_BYTES_MAX } from '../../core/limits.ts';
import type { Refusal } from './refusal.ts';

export interface PayloadFacts {
  readonly batchSize: number;
  readonly recordBytes: number | undefined;
}

export function guardPayload({ batchSize, recordBytes }: PayloadFacts): Refusal[] {
  if (recordBytes !== undefined && !(recordBytes > 0 && batchSizeMax(recordBytes) >= 1)) {
    return [
      {
        found: `recordBytes is ${recordBytes}`,
        expected: `bytes of a typical record, of which at least one fits in the ${INVOCATION_PAYLOAD_BYTES_MAX} bytes of an invocation`,
        todo: 'give the mean size of a record in bytes, or leave it out',
      },
    ];
  }
  if (!Number.isInteger(batchSize) || batchSize < 1 || batchSize > BATCH_RECORDS_MAX) {
    return [
      {
        found: `batchSize is ${batchSize}`,
        expected: `a whole number from 1 to ${BATCH_RECORDS_MAX}`,
        todo: 'leave it out for the largest that fits',
      },
    ];
  }
  const payloadBytes = Math.ceil((batchSize * (recordBytes ?? 0) * 4) / 3);
  if (payloadBytes <= INVOCATION_PAYLOAD_BYTES_MAX) return [];
  return [
    {
      found: `${batchSize} records of ${recordBytes} bytes are ${payloadBytes} bytes in base64`,
      expected: `at most ${INVOCATION_PAYLOAD_BYTES_MAX}, the payload of an invocation`,
      todo: `give batchSize: ${batchSizeMax(recordBytes)} or less, or leave it out`,
    },
  ];
}

/** How many records of a size fit, as far as a batch may go. */
export function batchSizeMax(recordBytes = 1): number {
  const fits = Math.floor((INVOCATION_PAYLOAD_BYTES_MAX * 3) / (4 * recordBytes));
  return Math.min(BATCH_RECORDS_MAX, fits);
}
