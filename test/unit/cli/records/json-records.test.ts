import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../../cli/usage-error.ts';
import { read, refusalOf, useFolder } from './record-reading.ts';

useFolder();

const MIB = 1024 * 1024;

it.each(['\n', ''])(
  'one object around all records that is too large to be one is refused, with what unpacks it',
  async (space) => {
    const events = Array.from(
      { length: 30_000 },
      (_, id) => `{"id":${id},"note":"${'x'.repeat(40)}"}`,
    );
    const text = `{"events":[${space}${events.join(`,${space}`)}]}`;
    expect(await refusalOf('a.json', text)).toContain(
      "jq -c '.events[]' FILE | npx tidemark put - …",
    );
  },
);

describe('JSON lines', () => {
  it('pass as they stand, without empty ones, with the number of their line', async () => {
    const text = '{"a":1}\r\n\n{"b": 9007199254740993}\n   \nnot json';
    const { records, texts } = await read('a.ndjson', text);

    expect(texts).toEqual(['{"a":1}', '{"b": 9007199254740993}', 'not json']);
    expect(records.map(({ unit, number }) => `${unit} ${number}`)).toEqual([
      'line 1',
      'line 3',
      'line 5',
    ]);
    expect((await read('a.JSONL', `\ufeff${text}`)).texts).toEqual(texts);
  });

  it.each([
    ['U+2028', '{"a":"x\u2028y"}'],
    ['U+2029', '{"a":"x\u2029y"}'],
    ['a lone CR', '{"a":1,\r"b":2}'],
    ['U+0085', '{"a":"\u0085"}'],
    ['a vertical TAB', '{"a":"\\u000b\u000b"}'],
  ])('are not ended by %s', async (_, line) => {
    expect((await read('b.ndjson', `${line}\n${line}\n`)).texts).toEqual([line, line]);
  });

  it('keep bytes that are not UTF-8', async () => {
    const line = Buffer.from('{"a":"\xff\xfe"}', 'latin1');
    const { records } = await read('c.ndjson', Buffer.concat([line, Buffer.from('\n'), line]));

    expect(records.map(({ data }) => Buffer.from(data))).toEqual([line, line]);
  });

  it('that are longer than a record may be are named by line and length', async () => {
    const long = `{"a":"${'x'.repeat(3 * MIB)}"}`;
    const text = `{"a":1}\n${long}\n{"a":2}\n`;

    expect(await refusalOf('d.ndjson', text)).toBe(
      'd.ndjson, line 2 has 3,145,736 bytes, and Kinesis takes records of 1,048,576 bytes at most, data and partition key together',
    );
    expect((await read('d.ndjson', text, { fromNumber: 3 })).texts).toEqual(['{"a":2}']);
  });

  it.each(['ndjson', 'json', 'jsonl'])('are read from .%s.gz and .zst', async (extension) => {
    const text = '{"a":1}\n{"a":2}';
    for (const packed of [gzipSync(text), zstdCompressSync(text)]) {
      expect((await read(`e.${extension}.gz`, packed)).texts).toEqual(['{"a":1}', '{"a":2}']);
      // By its bytes, not by its name.
      expect((await read(`e.${extension}`, packed)).texts).toEqual(['{"a":1}', '{"a":2}']);
    }
  });

  it('of several gzip members are read to the last', async () => {
    const packed = Buffer.concat([gzipSync('{"a":1}\n'), gzipSync('{"a":2}\n')]);

    expect((await read('f.ndjson.gz', packed)).texts).toEqual(['{"a":1}', '{"a":2}']);
  });

  it('that are arrays of no objects are lines', async () => {
    expect((await read('g.ndjson', '[1]\n[2]\n')).texts).toEqual(['[1]', '[2]']);
  });

  it('go as they stand if the user says that they are lines', async () => {
    const text = '[\n{"a":1}\n]\n';

    expect((await read('h.json', text, { format: 'ndjson' })).texts).toEqual(['[', '{"a":1}', ']']);
    expect((await read('h2.json', 'id,price\n1,2', { format: 'ndjson' })).texts).toHaveLength(2);
  });

  it('a first line that is cut off does not swallow those after it', async () => {
    const text = '{"a":1\n{"a":2}\n{"a":3}\n';

    expect((await read('i.ndjson', text)).texts).toEqual(['{"a":1', '{"a":2}', '{"a":3}']);
  });
});

describe('one JSON text', () => {
  it.each([
    ['on one line', '[{"a":1},{"a": 2.50 , "b":["]"]}]', ['{"a":1}', '{"a": 2.50 , "b":["]"]}']],
    ['over lines', '[\n  {"a":1},\n  {\n "a": 2\n}\n]\n', ['{"a":1}', '{\n "a": 2\n}']],
    ['of none', '[]', []],
    ['with a mark before it', '\ufeff [ {"a":"\\"}"} ] ', ['{"a":"\\"}"}']],
    ['with other values', '[{"a":1}, 7, null, "x"]', ['{"a":1}', '7', 'null', '"x"']],
  ])('that is an array %s gives its elements', async (_, text, expected) => {
    const { texts, records } = await read('a.json', text);

    expect(texts).toEqual(expected);
    for (const [index, record] of records.entries()) {
      expect(record).toMatchObject({ unit: 'element', number: index + 1 });
    }
  });

  it('that is larger than a chunk gives all its elements', async () => {
    const elements = Array.from({ length: 5_000 }, (_, index) => `{"id":"${index} é"}`);

    expect((await read('b.json', `[${elements.join(',\n')}]`)).texts).toEqual(elements);
  });

  it('of objects that are spread over lines gives each', async () => {
    const text = '{\n  "a": 1\n}\n{\n  "a": [\n2]}\n{"a":3}';

    expect((await read('c.json', text)).texts).toEqual([
      '{\n  "a": 1\n}',
      '{\n  "a": [\n2]}',
      '{"a":3}',
    ]);
  });

  it.each([
    ['[{"a":1}\n {"a":2}]', 'd.json, line 2, column 2: expected a comma or the end of the array'],
    ['[{"a":1},\n', 'd.json, line 2, column 1: the array is not closed: the file is cut off'],
    ['[{"a":1},\n{"é":2},{"b":tru}]', 'd.json, line 2, column 9: what begins here is not JSON'],
    ['[{"a":1}]\n{"a":2}', 'd.json, line 2, column 1: the array has ended, and more follows it'],
    ['[{"a":1},]', 'd.json, line 1, column 10: what begins here is not JSON'],
    ['{\n"a":1}\n{"a":}', 'd.json, line 3, column 1: what begins here is not JSON'],
  ])('that is wrong is refused with line and column: %j', async (text, says) => {
    expect(await refusalOf('d.json', text)).toBe(says);
  });

  it('goes on from an element, whatever is before it', async () => {
    const text = `[{"a":1}, {"a":"${'x'.repeat(2 * MIB)}"}, {"a":3}]`;

    expect(await refusalOf('e.json', text)).toContain(
      'e.json, element 2 on line 1 has more than 1,048,576 bytes',
    );
    expect((await read('e.json', text, { fromNumber: 3 })).texts).toEqual(['{"a":3}']);
  });
});

describe('a file that is not what its name says', () => {
  const utf16 = Buffer.from('\ufeff{"a":1}\n', 'utf16le');

  it.each<[string, Uint8Array | string, string]>([
    [
      'a.ndjson',
      utf16,
      'a.ndjson is UTF-16LE, and records are UTF-8: iconv -f UTF-16LE -t UTF-8 PATH/a.ndjson | npx tidemark put - …',
    ],
    [
      'a.csv',
      Buffer.from('id;a\n', 'utf16le').swap16(),
      'a.csv is UTF-16BE, and records are UTF-8: iconv -f UTF-16BE -t UTF-8 PATH/a.csv | npx tidemark put - --format csv …',
    ],
    [
      'my file.ndjson',
      Buffer.from('BZh91AY&SY'),
      "bzip2 -dc 'PATH/my file.ndjson' | npx tidemark put - …",
    ],
    [
      "it's.csv",
      Buffer.from('\uFEFFa', 'utf16le'),
      "-t UTF-8 'PATH/it'\\''s.csv' | npx tidemark put - --format csv …",
    ],
    [
      'b.csv',
      Buffer.from('BZh91AY&SY'),
      'bzip2 -dc PATH/b.csv | npx tidemark put - --format csv …',
    ],
    ['a.json', Buffer.from('BZh91AY&SY'), 'bzip2 -dc PATH/a.json | npx tidemark put - …'],
    ['a.json', Buffer.from('fd377a585a00', 'hex'), 'xz -dc PATH/a.json'],
    ['a.csv', Buffer.from('504b0304', 'hex'), 'a zip archive (or an xlsx workbook)'],
    ['a.ndjson.gz', gzipSync(gzipSync('{"a":1}')), 'packed twice'],
    ['a.ndjson.gz', gzipSync('{"a":1}\n'.repeat(100)).subarray(0, -9), 'cut off or damaged'],
    [
      'a.ndjson.gz',
      Buffer.concat([gzipSync('{"a":1}\n'), Buffer.from('{"a":2}\n')]),
      'cut off or damaged',
    ],
    [
      'a.ndjson.gz',
      Buffer.concat([gzipSync('{"a":1}\n'), Buffer.from('\0{"a":2}\n')]),
      'has 9 bytes after its gzip data',
    ],
    ['a.parquet', '{"a":1}', 'a.parquet is not Parquet: it does not begin with PAR1'],
    ['a.parquet.gz', gzipSync('PAR1'), 'read from its end: put it as a file, unpacked'],
    [
      'a.ndjson',
      'id,price\n1,2\n',
      'a.ndjson looks like CSV, not JSON: its first line is "id,price"',
    ],
    ['a.ndjson', 'sep=;\r\nid;price\r\n', 'looks like CSV, not JSON: its first line is "sep=;"'],
  ])('%s is refused by name: %#', async (name, content, says) => {
    expect((await refusalOf(name, content)).replace(/ \S+\/(a\.\w+) /, ' PATH/$1 ')).toContain(
      says.replace('PATH/', ''),
    );
  });

  it('is read as what it is, where that is JSON', async () => {
    expect((await read('b.csv', '{"a":1}\n{"a":2}')).texts).toEqual(['{"a":1}', '{"a":2}']);
    expect((await read('c.csv', '[{"a":1}]')).texts).toEqual(['{"a":1}']);
  });

  it('padding after gzip data is none of it', async () => {
    const padded = Buffer.concat([gzipSync('{"a":1}\n'), Buffer.alloc(512)]);

    expect((await read('d.ndjson.gz', padded)).texts).toEqual(['{"a":1}']);
  });

  it('is wrong usage where the name says nothing', async () => {
    await expect(read('a.xml', '<a/>')).rejects.toThrow(UsageError);
    expect((await read('a.log', '{"a":1}', { format: 'ndjson' })).texts).toEqual(['{"a":1}']);
  });

  it('that is not there is named', async () => {
    const { path } = await read('gone.ndjson', '');
    const { readFrom } = await import('./record-reading.ts');

    await expect(readFrom(`${path}x.json`)).rejects.toThrow(
      /^there is no file .*gone\.ndjsonx\.json$/,
    );
  });
});
