/**
 * All shards of the stream, closed ones too as long as Kinesis keeps them. Asked anew each time: shards come and go.
 */
import { type KinesisClient, ListShardsCommand, type Shard } from '@aws-sdk/client-kinesis';
import { TransientFault } from '../../../core/faults.ts';
import type { HashRange } from '../../../core/ports.ts';
import type { AwsCalls } from '../aws-calls.ts';

export interface StreamShard {
  readonly shardId: string;
  readonly range: HashRange;
  /** False once it was split or merged: it takes no more records. */
  readonly isOpen: boolean;
  /** The shards that it was made of; they may be gone. */
  readonly parents: readonly string[];
  /** Digits of its sequence numbers as the stream writes them: more than in canonical form where it pads them. */
  readonly sequenceDigits: number;
}

export interface ShardListOptions {
  readonly client: KinesisClient;
  readonly calls: AwsCalls;
  readonly streamArn: string;
  readonly pageMax?: number;
}

const PAGE_MAX = 1_000;
/** A list whose tokens expire (after 5 minutes) so often is not being read, it is being waited for. */
const BEGINNINGS_MAX = 3;

export class ShardList {
  readonly #options: ShardListOptions;

  constructor(options: ShardListOptions) {
    this.#options = options;
  }

  /** Ordered by id. Throws `ConfigurationFault` if there is no such stream. */
  async list(): Promise<StreamShard[]> {
    for (let beginning = 1; ; beginning++) {
      try {
        const shards = await this.#listOnce();
        return shards.map(streamShard).sort((a, b) => (a.shardId < b.shardId ? -1 : 1));
      } catch (error) {
        if (!isExpiredToken(error)) throw error;
        if (beginning === BEGINNINGS_MAX) {
          throw new TransientFault(`cannot list the shards of ${this.#options.streamArn}`, {
            hint: 'its pages expire before they are asked for; it comes again',
            cause: error,
          });
        }
      }
    }
  }

  async #listOnce(): Promise<Shard[]> {
    const { client, calls, streamArn, pageMax = PAGE_MAX } = this.#options;
    const shards: Shard[] = [];
    let token: string | undefined;
    do {
      // A token stands for the stream; Kinesis refuses both.
      const page = token === undefined ? { StreamARN: streamArn } : { NextToken: token };
      const command = new ListShardsCommand({ ...page, MaxResults: pageMax });
      const answer = await calls.send(
        `list the shards of ${streamArn}`,
        (abortSignal) => client.send(command, { abortSignal }),
        isExpiredToken,
      );
      shards.push(...(answer.Shards ?? []));
      token = answer.NextToken;
    } while (token !== undefined);
    return shards;
  }
}

function isExpiredToken(error: unknown): boolean {
  return error instanceof Error && error.name === 'ExpiredNextTokenException';
}

function streamShard(shard: Shard): StreamShard {
  const { ShardId, HashKeyRange, SequenceNumberRange, ParentShardId, AdjacentParentShardId } =
    shard;
  const parents = [ParentShardId, AdjacentParentShardId];
  return {
    shardId: ShardId ?? '',
    range: {
      start: hexOf(HashKeyRange?.StartingHashKey),
      end: hexOf(HashKeyRange?.EndingHashKey),
    },
    isOpen: SequenceNumberRange?.EndingSequenceNumber === undefined,
    parents: parents.filter((parent) => parent !== undefined),
    sequenceDigits: SequenceNumberRange?.StartingSequenceNumber?.length ?? 0,
  };
}

const HASH_KEY_DIGITS = 32;

function hexOf(decimal: string | undefined): string {
  return BigInt(decimal ?? '0')
    .toString(16)
    .padStart(HASH_KEY_DIGITS, '0');
}
