import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordsOf } from '../../../cli/record-file.ts';
import { UsageError } from '../../../cli/usage-error.ts';

const PARQUET = fileURLToPath(new URL('../../e2e/data/orders.parquet', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-records-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(name: string, text: string): Promise<string[]> {
  const path = join(folder, name);
  writeFileSync(path, text);
  return all(path);
}

async function all(path: string): Promise<string[]> {
  const records: string[] = [];
  for await (const record of recordsOf(path)) records.push(record);
  return records;
}

describe('NDJSON', () => {
  it('passes each line as it stands, without empty ones', async () => {
    const text = '{"a":1}\r\n\n{"b": 9007199254740993}\n   \nnot json';

    expect(await read('a.ndjson', text)).toEqual([
      '{"a":1}',
      '{"b": 9007199254740993}',
      'not json',
    ]);
    expect(await read('a.JSONL', `\ufeff${text}`)).toEqual(await read('a.ndjson', text));
  });
});

describe('CSV', () => {
  it('makes an object of each row, numbers with all their digits', async () => {
    const text = 'id,price,open,note\n9007199254740993,1.10,true,\n007,-2e3,False,x\n';

    expect(await read('a.csv', text)).toEqual([
      '{"id":9007199254740993,"price":1.10,"open":true,"note":null}',
      '{"id":"007","price":-2e3,"open":"False","note":"x"}',
    ]);
  });

  it('keeps commas, quotes and line breaks of quoted fields', async () => {
    const text = 'a,b\r\n"x, ""y""\r\nz","{""not"": 1}"';

    expect(await read('b.csv', text)).toEqual(['{"a":"x, \\"y\\"\\r\\nz","b":"{\\"not\\": 1}"}']);
  });

  it('drops a byte order mark, and empty lines between rows', async () => {
    const text = '\ufeffa,b\n1,2\n\n3,4\n\n';

    expect(await read('c.csv', text)).toEqual(['{"a":1,"b":2}', '{"a":3,"b":4}']);
  });

  it('takes an empty line as an empty field where there is one column', async () => {
    expect(await read('d.csv', 'a\n1\n\n2')).toEqual(['{"a":1}', '{"a":null}', '{"a":2}']);
  });

  it('leaves out what a short row lacks', async () => {
    expect(await read('e.csv', 'a,b\n1\n')).toEqual(['{"a":1}']);
  });

  it('refuses a row with more fields than the header, by its number', async () => {
    await expect(read('f.csv', 'a,b\n1,2\n1,2,3\n')).rejects.toThrow(
      /row 3 of .*f\.csv has 3 fields, and its header names 2/,
    );
  });

  it('refuses a quote that is never closed', async () => {
    await expect(read('g.csv', 'a\n"x\ny\n')).rejects.toThrow(/g\.csv ends inside a quoted field/);
  });
});

describe('Parquet', () => {
  it('gives times as ISO 8601 and wide integers with all their digits', async () => {
    const records = await all(PARQUET);

    expect(records).toHaveLength(3);
    expect(records[0]).toBe(
      '{"order":"a","at":"2026-03-01T10:00:00.000Z","shop":"north","price":1.5,"serial":9007199254740993}',
    );
  });

  it('that is none says so', async () => {
    await expect(read('a.parquet', 'PAR1 but no more than that')).rejects.toThrow(/parquet/i);
  });
});

it('any other name is wrong usage', async () => {
  await expect(read('a.xml', '<a/>')).rejects.toThrow(UsageError);
});
