/**
 * A given stream, table or bucket that is encrypted with a customer key needs that key here, for the grants. Seen only where the
 * resource is of this app.
 */
import type { Refusal } from './refusal.ts';

export interface KeyFacts {
  /** The id of the key as the given resource has it; undefined if it has none, or is imported. */
  readonly streamKeyId: unknown;
  readonly isStreamKeyKnown: boolean;
  readonly bucketKeyId: unknown;
  /** What the given table says of its key; undefined if it has none, or is imported without it. */
  readonly tableKeyId: unknown;
  readonly isBucketKeyKnown: boolean;
}

/** The aliases of keys that AWS manages: a principal that may use the resource may use them. */
const MANAGED = /^alias\/aws\//;

export function guardKeys(facts: KeyFacts): Refusal[] {
  const refusals: Refusal[] = [];
  if (needsGrant(facts.streamKeyId) && !facts.isStreamKeyKnown) {
    refusals.push({
      found: `the given stream is encrypted with a key of yours: ${JSON.stringify(facts.streamKeyId)}`,
      expected: 'the key, so that functions and producers are granted its use',
      todo: 'give streamKey, or make the stream with encryptionKey',
    });
  }
  if (needsGrant(facts.bucketKeyId) && !facts.isBucketKeyKnown) {
    refusals.push({
      found: `the given bucket is encrypted with a key of yours: ${JSON.stringify(facts.bucketKeyId)}`,
      expected: 'a bucket that knows its key, so that functions are granted its use',
      todo: 'make it with encryptionKey, or import it by Bucket.fromBucketAttributes with encryptionKey',
    });
  }
  if (facts.tableKeyId !== undefined) {
    refusals.push({
      found: `the given table is encrypted with a key of yours: ${JSON.stringify(facts.tableKeyId)}`,
      expected: 'a table encrypted with a key of AWS: functions are granted no other',
      todo: 'restore it with the default encryption, or change it by `aws dynamodb update-table --sse-specification Enabled=false`',
    });
  }
  return refusals;
}

function needsGrant(keyId: unknown): boolean {
  return keyId !== undefined && !(typeof keyId === 'string' && MANAGED.test(keyId));
}
