/**
 * Records of a stream are no larger than what is folded: a larger one would go to quarantine, or, beyond what an invocation takes,
 * not come at all.
 */
import { RECORD_BYTES_MAX } from '../../core/limits.ts';
import type { Refusal } from './refusal.ts';

const KIB_MAX = RECORD_BYTES_MAX / 1024;

/** As the stream is rendered; undefined for Kinesis's default, which is the most that is folded. */
export function guardRecordSize(kib: unknown): Refusal[] {
  if (kib === undefined || (typeof kib === 'number' && kib <= KIB_MAX)) return [];
  return [
    {
      found: `MaxRecordSizeInKiB of the stream is ${String(kib)}`,
      expected: `at most ${KIB_MAX}: larger records cannot be folded, and Lambda cannot bring those above 6 MB`,
      todo: 'take it away; producers put what is larger into S3, and its key into the record',
    },
  ];
}
