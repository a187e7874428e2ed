import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { read, readFrom, refusalOf, useFolder } from './record-reading.ts';

useFolder();

const file = (name: string) =>
  fileURLToPath(new URL(`../../../e2e/data/${name}.parquet`, import.meta.url));

describe('Parquet', () => {
  it('gives times as ISO 8601 and wide integers with all their digits', async () => {
    const { texts, records } = await readFrom(file('orders'));

    expect(texts).toHaveLength(3);
    // The file says that the time is of no zone: the pipeline's is the one.
    expect(texts[0]).toBe(
      '{"order":"a","at":"2026-03-01T10:00:00.000","shop":"north","price":1.5,"serial":9007199254740993}',
    );
    expect(records[2]).toMatchObject({ unit: 'row', number: 3 });
  });

  it('gives every row of columns that have several pages', async () => {
    const { texts } = await readFrom(file('pages'));

    expect(texts).toEqual(
      Array.from({ length: 3_000 }, (_, row) =>
        JSON.stringify({ serial: row, code: row % 3 === 0 ? null : `c${row}` }),
      ),
    );
  });

  it('keeps what each type has', async () => {
    const { texts } = await readFrom(file('types'));

    expect(texts).toEqual([
      '{"wide":9007199254740993,"unsigned":18446744073709551615,"price":1.10,"huge":12345678901234567890.123456789,' +
        '"at":"2026-03-01T10:00:00.123456Z","local":"2026-03-01T10:00:00.123456","nanos":"2026-03-01T10:00:00.123456007Z",' +
        '"day":"2026-03-01","bytes":"/wA=","text":"\u2028\\"","list":[1,null,9007199254740993],' +
        '"nested":{"price":1.10,"tags":["a"]},"lines":[{"sku":"a","at":"2026-03-01T10:00:00.123456Z"}],' +
        '"map":{"a":9007199254740993},"flag":true,"ratio":0.1}',
      '{"wide":-9007199254740993,"unsigned":0,"price":-0.05,"huge":-0.000000001,"at":"1969-12-31T23:59:59.999999Z",' +
        '"local":"2026-03-01T10:00:00.000","nanos":"1969-12-31T23:59:59.999999999Z","day":"1969-12-31","bytes":"",' +
        '"text":"","list":[],"nested":{"price":null,"tags":[]},"lines":[],"map":{},"flag":false,"ratio":1e+300}',
      '{"wide":null,"unsigned":null,"price":null,"huge":null,"at":null,"local":null,"nanos":null,"day":null,' +
        '"bytes":null,"text":null,"list":null,"nested":null,"lines":null,"map":null,"flag":null,"ratio":null}',
    ]);
  });

  it('refuses what JSON has no number for, by row and column', async () => {
    await expect(readFrom(file('nan'))).rejects.toThrow(
      /nan\.parquet, row 2, column 'ratio': found NaN, for which JSON has no number; --null NaN sends null/,
    );
    expect((await readFrom(file('nan'), { nullText: 'NaN' })).texts[1]).toBe(
      '{"id":"b","ratio":null}',
    );
  });

  it('is read under another name, and goes on from a row', async () => {
    const { readFileSync } = await import('node:fs');
    const bytes = readFileSync(file('orders'));

    expect((await read('orders.ndjson', bytes, { fromNumber: 3 })).texts).toHaveLength(1);
  });

  it('that is damaged is named', async () => {
    expect(await refusalOf('a.parquet', 'PAR1 but no more than that')).toMatch(
      /^a\.parquet cannot be read as Parquet: parquet/,
    );
  });
});
