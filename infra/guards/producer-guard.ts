/**
 * A producer of another account needs a key that admits it: the one that AWS manages for Kinesis admits its own account alone, so
 * each of its puts would be refused by KMS.
 */
import type { Refusal } from './refusal.ts';

export interface ProducerFacts {
  /** Undefined where it is not known before the deploy. */
  readonly producerAccount: string | undefined;
  readonly pipelineAccount: string | undefined;
  /** The stream is encrypted with a key of the customer's. */
  readonly isKeyGiven: boolean;
}

export function guardProducer(facts: ProducerFacts): Refusal[] {
  const { producerAccount, pipelineAccount, isKeyGiven } = facts;
  // Where the stack names no account, a producer's that is named may be any: most are of the same.
  const isOther =
    producerAccount !== undefined &&
    pipelineAccount !== undefined &&
    producerAccount !== pipelineAccount;
  if (isKeyGiven || !isOther) return [];
  return [
    {
      found: `a producer of account ${producerAccount} is to put into a stream whose key AWS manages, in account ${pipelineAccount}`,
      expected: 'a key of yours: the one that AWS manages admits no other account',
      todo: 'make the stream with a key of yours and give both as `stream` and `streamKey` with start and retention; let the key policy and the policy of the stream admit the account',
    },
  ];
}
