import { describe, expect, it, vi } from 'vitest';
import { TransientFault } from '../../../../core/faults.ts';
import { AppendQueue } from '../../../../runtime/kinesis-api/append-queue.ts';
import { entry, openStream, SHARD_0 } from '../../adapters-local/stream-fixture.ts';

const keys = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => entry(`${prefix}${index}`, ''));

describe('the append queue', () => {
  it('appends what comes in one turn in one transaction, and answers each its own', async () => {
    const stream = openStream();
    const append = vi.spyOn(stream, 'append');
    const queue = new AppendQueue(stream);
    const answers = await Promise.all([
      queue.append(keys('a', 2)),
      queue.append(keys('b', 1)),
      queue.append(keys('c', 3)),
    ]);
    expect(append).toHaveBeenCalledTimes(1);
    expect(answers.map((records) => records.length)).toEqual([2, 1, 3]);
    const { records } = stream.readFrom(SHARD_0, 1, { countMax: 10, bytesMax: 1_000 });
    expect(records.map(({ partitionKey }) => partitionKey)).toEqual([
      'a0',
      'a1',
      'b0',
      'c0',
      'c1',
      'c2',
    ]);
    expect(answers.flat().map(({ sequenceNumber }) => sequenceNumber)).toEqual(
      records.map(({ sequenceNumber }) => sequenceNumber),
    );
  });

  it('keeps transactions small enough, and the order', async () => {
    const stream = openStream();
    const append = vi.spyOn(stream, 'append');
    const queue = new AppendQueue(stream);
    const answers = await Promise.all(
      Array.from({ length: 25 }, (_, index) => queue.append(keys(`${index}-`, 500))),
    );
    expect(append.mock.calls.map(([entries]) => entries.length)).toEqual([5_000, 5_000, 2_500]);
    const flat = answers.flat().map(({ sequenceNumber }) => sequenceNumber);
    expect(flat).toEqual([...flat].sort());
  });

  it('fails all that share a failed transaction, and goes on afterwards', async () => {
    const stream = openStream();
    const queue = new AppendQueue(stream);
    const append = vi.spyOn(stream, 'append').mockImplementationOnce(() => {
      throw new TransientFault('the disk is full');
    });
    const results = await Promise.allSettled([
      queue.append(keys('a', 1)),
      queue.append(keys('b', 1)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await queue.append(keys('c', 1))).toHaveLength(1);
    expect(append).toHaveBeenCalledTimes(2);
  });
});
