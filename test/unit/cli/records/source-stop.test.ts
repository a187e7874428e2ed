import { expect, it } from 'vitest';
import { csvRecords } from '../../../../cli/records/csv-records.ts';
import { jsonRecords } from '../../../../cli/records/json-records.ts';
import { SourceStop } from '../../../../cli/records/source-stop.ts';

async function* ending(text: string, onEnd: () => void): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
  onEnd();
}

const JSON_READING = { name: '-', isTold: false, fromNumber: 1 };

it('a line that a program could not write to its end is none, where the signal comes after the end', async () => {
  const stop = new SourceStop();
  const source = ending('{"id":"a"}\n{"id":"b', () => setImmediate(() => stop.stop()));
  const numbers: number[] = [];
  const chunks = stop.chunksOf(source, { isLive: true });
  for await (const { number } of jsonRecords(chunks, { ...JSON_READING, stop })) {
    numbers.push(number);
  }

  expect(numbers).toEqual([1]);
});

it('nor is such a row of CSV', async () => {
  const stop = new SourceStop();
  const source = ending('a,b\n1,2\n3,4', () => setImmediate(() => stop.stop()));
  const texts: string[] = [];
  const reading = { name: '-', delimiter: null, nullText: null, fromNumber: 1, types: new Map() };
  const chunks = stop.chunksOf(source, { isLive: true });
  const tell = () => {};
  for await (const { data } of csvRecords(chunks, { ...reading, plan: null, tell, stop })) {
    texts.push(Buffer.from(data).toString());
  }

  expect(texts).toEqual(['{"a":"1","b":"2"}']);
});

it('each row of CSV comes as soon as its line is there', async () => {
  const stop = new SourceStop();
  const reading = { name: '-', delimiter: null, nullText: null, fromNumber: 1, types: new Map() };
  const seen: number[] = [];
  async function* slow(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a,b\n1,"x\n');
    expect(seen).toEqual([]);
    yield Buffer.from('y"\n');
    expect(seen).toEqual([2]);
    yield Buffer.from('3,4\n5,6\n');
    expect(seen).toEqual([2, 4, 5]);
  }
  for await (const { number } of csvRecords(slow(), { ...reading, plan: null, tell() {}, stop })) {
    seen.push(number);
  }

  expect(seen).toEqual([2, 4, 5]);
});

it('without a signal the last line counts without its line feed', async () => {
  const stop = new SourceStop();
  const numbers: number[] = [];
  const chunks = stop.chunksOf(
    ending('{"id":"a"}\n{"id":"b"}', () => {}),
    { isLive: true },
  );
  for await (const { number } of jsonRecords(chunks, { ...JSON_READING, stop })) {
    numbers.push(number);
  }

  expect(numbers).toEqual([1, 2]);
});
