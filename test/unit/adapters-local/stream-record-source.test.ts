import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LocalRecordSource } from '../../../adapters/local/stream/local-record-source.ts';
import type { LocalStream } from '../../../adapters/local/stream/local-stream.ts';
import { StreamMismatchFault } from '../../../core/faults.ts';
import type { SourceRead } from '../../../core/ports.ts';
import { START } from '../../../core/position.ts';
import { entry, NOW_MS, openStream, SHARD_0, streamPath, TestClock } from './stream-fixture.ts';

function opened(clock = new TestClock()) {
  const path = streamPath();
  const stream = openStream({ path, clock });
  const source = LocalRecordSource.open(path);
  onTestFinished(() => source.close());
  return { path, stream, source, clock };
}

function append(stream: LocalStream, ...keys: string[]) {
  const appended = stream.append(keys.map((key) => entry(key)));
  return appended.map(({ sequenceNumber }) => ({ sequenceNumber, subSequence: 0 }));
}

function keysOf(read: SourceRead): string[] {
  expect(read.outcome).toBe('records');
  return read.outcome === 'records' ? read.records.map((record) => record.partitionKey) : [];
}

describe('the local stream as a record source', () => {
  it('brings the records after a position, in order, up to the limit', async () => {
    const { stream, source } = opened();
    const [, second] = append(stream, 'a', 'b', 'c', 'd');
    expect(keysOf(await source.readAfter(SHARD_0, START, 10))).toEqual(['a', 'b', 'c', 'd']);
    const read = await source.readAfter(SHARD_0, second as never, 1);
    expect(keysOf(read)).toEqual(['c']);
    expect(read).toMatchObject({ reachedTip: false });
  });

  it('says when nothing follows', async () => {
    const { stream, source } = opened();
    expect(await source.readAfter(SHARD_0, START, 10)).toEqual({
      outcome: 'records',
      origin: 'stream',
      records: [],
      reachedTip: true,
    });
    const [first] = append(stream, 'a');
    expect(await source.readAfter(SHARD_0, START, 1)).toMatchObject({ reachedTip: true });
    expect(await source.readAfter(SHARD_0, first as never, 1)).toMatchObject({ records: [] });
  });

  it('takes a position inside an aggregate for the whole record', async () => {
    const { stream, source } = opened();
    const [first] = append(stream, 'a', 'b');
    const inside = { sequenceNumber: first?.sequenceNumber as string, subSequence: 3 };
    expect(keysOf(await source.readAfter(SHARD_0, inside, 10))).toEqual(['b']);
  });

  it('reports records that are trimmed, with the oldest that is left', async () => {
    const { stream, source } = opened();
    const positions = append(stream, 'a', 'b', 'c');
    expect(await stream.trimBefore(SHARD_0, positions[2] as never)).toBe(2);
    const trimmed = { outcome: 'trimmed', oldest: positions[2] };
    expect(await source.readAfter(SHARD_0, START, 10)).toEqual(trimmed);
    expect(await source.readAfter(SHARD_0, positions[0] as never, 10)).toEqual(trimmed);
    expect(keysOf(await source.readAfter(SHARD_0, positions[1] as never, 10))).toEqual(['c']);
  });

  it('reports that nothing is left, yet goes on from the last position', async () => {
    const { stream, source, clock } = opened();
    const [first, last] = append(stream, 'a', 'b');
    clock.ms += 25 * 3_600_000;
    await stream.trimExpired(clock.ms, new Map([[SHARD_0, last as never]]));
    expect(await source.readAfter(SHARD_0, first as never, 10)).toEqual({
      outcome: 'trimmed',
      oldest: null,
    });
    expect(await source.readAfter(SHARD_0, last as never, 10)).toMatchObject({
      records: [],
      reachedTip: true,
    });
    append(stream, 'c');
    expect(keysOf(await source.readAfter(SHARD_0, last as never, 10))).toEqual(['c']);
  });

  it('refuses a position of another stream, as when the file was replaced', async () => {
    const { stream, source } = opened();
    append(stream, 'a');
    const other = openStream({ clock: Object.assign(new TestClock(), { ms: NOW_MS + 5 }) });
    const [foreign] = append(other, 'a');
    await expect(source.readAfter(SHARD_0, foreign as never, 10)).rejects.toThrow(
      StreamMismatchFault,
    );
    await expect(source.readAfter(SHARD_0, foreign as never, 10)).rejects.toThrow(
      /the stream has another record there/,
    );
  });

  it('refuses a position after the newest record, as when the file is an older copy', async () => {
    const { stream, source } = opened();
    const [position] = append(stream, 'a');
    const late = position?.sequenceNumber.replace('0000000000000001', '0000000000000002') as string;
    const read = source.readAfter(SHARD_0, { sequenceNumber: late, subSequence: 0 }, 10);
    await expect(read).rejects.toThrow(/the stream ends before it.*The stream is the older/);
  });

  it('reads in another thread what this one appends', async () => {
    const { path, stream } = opened();
    append(stream, 'a', 'b');
    const module = new URL(
      '../../../adapters/local/stream/local-record-source.ts',
      import.meta.url,
    );
    const worker = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
       import(workerData.module).then(async ({ LocalRecordSource }) => {
         const source = LocalRecordSource.open(workerData.path);
         const start = { sequenceNumber: '0', subSequence: 0 };
         parentPort.on('message', async () => {
           const read = await source.readAfter('${SHARD_0}', start, 10);
           parentPort.postMessage(read.records.map((record) => record.partitionKey));
         });
         parentPort.postMessage('ready');
       });`,
      { eval: true, workerData: { path, module: module.href } },
    );
    onTestFinished(async () => void (await worker.terminate()));
    const answer = () =>
      new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    expect(await answer()).toBe('ready');
    worker.postMessage('read');
    expect(await answer()).toEqual(['a', 'b']);
    append(stream, 'c');
    worker.postMessage('read');
    expect(await answer()).toEqual(['a', 'b', 'c']);
  });
});
