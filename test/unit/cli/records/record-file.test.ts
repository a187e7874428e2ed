import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SourceStop } from '../../../../cli/records/source-stop.ts';
import { type Read, readFrom } from './record-reading.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-pipes-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const CSV = 'a,b\n1,2\n3,4\n';

function fifo(name: string): string {
  const path = join(folder, name);
  execFileSync('mkfifo', [path]);
  return path;
}

/** What a FIFO gives into which `content` is written once. */
async function through(name: string, content: string | Uint8Array): Promise<Read> {
  const path = fifo(name);
  const [read] = await Promise.all([readFrom(path), writeFile(path, content)]);
  return read;
}

describe('what can be read only once, though it has a name,', () => {
  it('gives all its rows of CSV', async () => {
    expect((await through('a.csv', CSV)).texts).toEqual(['{"a":"1","b":"2"}', '{"a":"3","b":"4"}']);
  });

  it('gives them unpacked too', async () => {
    expect((await through('b.csv.gz', gzipSync(CSV))).texts).toHaveLength(2);
  });

  it('gives JSON that is named CSV', async () => {
    expect((await through('c.csv', '{"a":1}\n{"a":2}\n')).texts).toEqual(['{"a":1}', '{"a":2}']);
  });

  it('is judged row by row', async () => {
    await expect(through('d.csv', `${CSV}5\n`)).rejects.toThrow('line 4: the row has 1 field');
  });

  it('is refused where it is Parquet', async () => {
    await expect(through('e.parquet', 'PAR1, and what follows')).rejects.toThrow(
      'is Parquet, which is read from its end: put it as a file, unpacked',
    );
  });

  it('ends once it is stopped, also before anything is written', async () => {
    const stop = new SourceStop();
    const reading = readFrom(fifo('f.csv'), { stop });
    setImmediate(() => stop.stop());

    expect((await reading).texts).toEqual([]);
  });
});

it('a file that has fewer rows when they are sent than when they were judged is an error', async () => {
  const path = join(folder, 'g.csv');
  writeFileSync(path, CSV);
  // The header is told of after the file was read, before it is read again.
  const tell = () => writeFileSync(path, 'a,b\n1,2\n');

  await expect(readFrom(path, { tell })).rejects.toThrow(
    'g.csv changed while it was read: it had 2 records, and then 1',
  );
});

describe('a file that ends before the place to begin at', () => {
  const array = '[{"a":1},{"a":2}]';

  it.each([
    ['h.ndjson', '{"a":1}\n{"a":2}\n', 'has 2 lines, so it cannot be read from line 9 on'],
    ['i.ndjson', '{"a":1}', 'has 1 line, so it cannot be read from line 9 on'],
    ['j.json', array, 'has 2 elements, so it cannot be read from element 9 on'],
    ['k.json', '{\n"a":1}', 'has 1 element, so it cannot be read from element 9 on'],
    ['l.json', '[]', 'has 0 elements'],
    ['m.csv', CSV, 'has 3 lines, so it cannot be read from line 9 on'],
    ['n.csv', '', 'has 0 lines'],
    ['o.ndjson', '', 'has 0 lines'],
    ['p.ndjson', '\uFEFF', 'has 0 lines'],
  ])('is refused: %s', async (name, content, says) => {
    const path = join(folder, name);
    writeFileSync(path, content);

    await expect(readFrom(path, { fromNumber: 9 })).rejects.toThrow(`${name} ${says}`);
  });

  it.each([
    ['q.ndjson', '{"a":1}\n{"a":2}\n', 3],
    ['r.json', array, 3],
    ['s.csv', CSV, 4],
    ['t.csv', 'a,b\n1,2', 3],
  ])('has no records left where it ends right before: %s', async (name, content, fromNumber) => {
    const path = join(folder, name);
    writeFileSync(path, content);

    expect((await readFrom(path, { fromNumber })).texts).toEqual([]);
  });
});
