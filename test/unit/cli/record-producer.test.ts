import type { KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis';
import { describe, expect, it } from 'vitest';
import { RecordProducer } from '../../../cli/record-producer.ts';

const SHARD = 'shardId-000000000000';

type Answer = { ShardId?: string; SequenceNumber?: string; ErrorCode?: string };

/** Stands for the SDK's client: `take` decides what becomes of the n-th request. */
function trialClient(take: (keys: string[], request: number) => Promise<Answer[]> | Answer[]) {
  const requests: string[][] = [];
  const client = {
    async send({ input }: PutRecordsCommand) {
      const keys = (input.Records ?? []).map(({ PartitionKey }) => PartitionKey as string);
      requests.push(keys);
      return { Records: await take(keys, requests.length - 1) };
    },
  } as unknown as KinesisClient;
  return { client, requests };
}

let sequence = 0;
const taken = (keys: string[]): Answer[] =>
  keys.map(() => ({ ShardId: SHARD, SequenceNumber: String(++sequence) }));

async function putAll(
  client: KinesisClient,
  keys: readonly string[],
  data = new Uint8Array(1),
  onFailure: (error: unknown) => Promise<boolean> = async () => false,
) {
  const producer = new RecordProducer({ client, stream: 's', requestsMax: 1, onFailure });
  for (const key of keys) await producer.put(key, data);
  await producer.flush();
  return producer;
}

const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${index}`);

describe('a record producer', () => {
  it('fills requests up to 500 records, in order', async () => {
    const { client, requests } = trialClient(taken);
    const producer = await putAll(client, keys(1_201));

    expect(requests.map(({ length }) => length)).toEqual([500, 500, 201]);
    expect(requests.flat()).toEqual(keys(1_201));
    expect(producer.acknowledgedCount).toBe(1_201);
  });

  it('keeps requests within the bytes that Kinesis takes', async () => {
    const { client, requests } = trialClient(taken);
    await putAll(client, keys(12), new Uint8Array(1_000_000));

    expect(requests.map(({ length }) => length)).toEqual([5, 5, 2]);
  });

  it('sends again only the records that were refused', async () => {
    const { client, requests } = trialClient((all, request) =>
      request > 0
        ? taken(all)
        : taken(all).map((answer, index) =>
            index === 1 ? { ErrorCode: 'ProvisionedThroughputExceededException' } : answer,
          ),
    );
    const producer = await putAll(client, ['a', 'b', 'c']);

    expect(requests).toEqual([['a', 'b', 'c'], ['b']]);
    expect(producer.acknowledgedCount).toBe(3);
  });

  it('sends a failed request again as long as it is told to', async () => {
    const failures: string[] = [];
    const { client, requests } = trialClient((all, request) => {
      if (request < 2) throw new Error(`failure ${request}`);
      return taken(all);
    });
    const producer = await putAll(client, ['a'], undefined, async (error) => {
      failures.push((error as Error).message);
      return true;
    });

    expect(failures).toEqual(['failure 0', 'failure 1']);
    expect(requests).toHaveLength(3);
    expect(producer).toMatchObject({ acknowledgedCount: 1, resentCount: 2 });
  });

  it('rejects with the first failure that nobody sends again', async () => {
    const { client } = trialClient(() => {
      throw new Error('no such stream');
    });

    await expect(putAll(client, ['a'])).rejects.toThrow('no such stream');
  });

  it('names the newest acknowledged record of each shard, by number and not by text', async () => {
    const numbers = ['9', '10', '100', '99'];
    const { client } = trialClient((all) =>
      all.map((_, index) => ({ ShardId: SHARD, SequenceNumber: numbers[index] as string })),
    );
    const producer = await putAll(client, keys(4));

    expect([...producer.acknowledged]).toEqual([[SHARD, '100']]);
  });
});

describe('a slow source', () => {
  it('has each record sent once it has waited long enough', async () => {
    const { client, requests } = trialClient(taken);
    const options = {
      client,
      stream: 's',
      requestsMax: 1,
      lingerMs: 5,
      onFailure: async () => false,
    };
    const producer = new RecordProducer(options);
    await producer.put('a', new Uint8Array(1));
    await producer.put('b', new Uint8Array(1));
    await expect.poll(() => producer.acknowledgedCount).toBe(2);
    await producer.put('c', new Uint8Array(1));
    await expect.poll(() => producer.acknowledgedCount).toBe(3);

    expect(requests).toEqual([['a', 'b'], ['c']]);
  });

  it('hears of a failure while it waits for the next record', async () => {
    const { client } = trialClient(() => {
      throw new Error('gone');
    });
    const options = {
      client,
      stream: 's',
      requestsMax: 1,
      lingerMs: 5,
      onFailure: async () => false,
    };
    const producer = new RecordProducer(options);
    await producer.put('a', new Uint8Array(1), 1);

    await expect(producer.failed).rejects.toThrow('gone');
    await expect(producer.put('b', new Uint8Array(1), 2)).rejects.toThrow('gone');
  });
});

describe('records that were not acknowledged', () => {
  it('are known by the first of them, also where later ones were taken', async () => {
    const { client } = trialClient((all, request) => {
      if (request === 2) throw new Error('gone');
      return taken(all).map((answer, index) => (request === 1 && index === 3 ? {} : answer));
    });
    const options = {
      client,
      stream: 's',
      requestsMax: 1,
      backoffMs: 1,
      onFailure: async () => false,
    };
    const producer = new RecordProducer(options);
    for (let number = 1; number <= 500; number++)
      await producer.put('k', new Uint8Array(1), number);
    await producer.flush();
    expect(producer.firstUnacknowledged).toBeNull();
    for (let number = 501; number <= 600; number++) {
      await producer.put('k', new Uint8Array(1), number);
    }

    await expect(producer.flush()).rejects.toThrow('gone');
    expect(producer).toMatchObject({ firstUnacknowledged: 504, acknowledgedCount: 599 });
  });

  it('are sent again until the stream takes none for long, and then it says why', async () => {
    const { client, requests } = trialClient((all) =>
      all.map(() => ({
        ErrorCode: 'ProvisionedThroughputExceededException',
        ErrorMessage: 'slow',
      })),
    );
    const options = {
      client,
      stream: 's',
      requestsMax: 1,
      backoffMs: 0,
      onFailure: async () => false,
    };
    const producer = new RecordProducer(options);
    await producer.put('a', new Uint8Array(1), 1);

    await expect(producer.flush()).rejects.toThrow(
      'the stream takes no record: ProvisionedThroughputExceededException slow',
    );
    expect(requests).toHaveLength(13);
  });
});
