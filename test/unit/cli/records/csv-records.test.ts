import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ColumnTypes } from '../../../../cli/records/csv-columns.ts';
import { csvRecords } from '../../../../cli/records/csv-records.ts';
import { SourceStop } from '../../../../cli/records/source-stop.ts';
import { parsePlan } from '../../../../core/definition/parse-plan.ts';
import type { Plan } from '../../../../core/definition/plan.ts';
import { read, refusalOf, useFolder } from './record-reading.ts';

useFolder();

const plan = planOf({
  time: { field: 'at', unit: 's' },
  dedupe: { id: 'order', within: '1h' },
  category: { field: 'kind' },
  views: {
    by_zip: {
      groupBy: ['zip'],
      aggregates: { n: { count: '*' }, known: { count: 'phone' }, total: { sum: 'price' } },
    },
    sizes: { groupBy: ['size'], aggregates: { largest: { max: 'size' } } },
  },
});

function planOf(part: object): Plan {
  const parsed = parsePlan({ name: 'p', ...part });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

/** What `put - --format csv` reads of a pipe that gives these parts. */
async function readChunks(parts: readonly Buffer[], fromNumber = 1) {
  const told: string[] = [];
  const texts: string[] = [];
  const lines: number[] = [];
  const reading = {
    name: '-',
    delimiter: null,
    types: new Map(),
    nullText: null,
    plan: null,
    fromNumber,
    tell: (text: string) => told.push(text),
    stop: new SourceStop(),
  };
  async function* chunks() {
    for (const part of parts) if (part.length > 0) yield new Uint8Array(part);
  }
  let refused: string | null = null;
  try {
    for await (const { data, number } of csvRecords(chunks(), reading)) {
      texts.push(Buffer.from(data).toString());
      lines.push(number);
    }
  } catch (error) {
    refused = (error as Error).message;
  }
  return { texts, lines, told, refused };
}

const typed = (types: Record<string, 'text' | 'number' | 'boolean'>): ColumnTypes =>
  new Map(Object.entries(types));

/** The one value of a column named `name`. */
async function cell(name: string, text: string, types?: ColumnTypes): Promise<string> {
  const reading = types === undefined ? { plan } : { plan, types };
  const { texts } = await read('cell.csv', `${name},x\n${text},\n`, reading);
  return texts[0]?.slice(`{"${name}":`.length, -',"x":null}'.length) ?? '';
}

it('a file whose lines end in CR alone is refused, not taken for one long header', async () => {
  const refused = await refusalOf('old.csv', 'order,price\r1,2\r3,4\r', { plan });
  expect(refused).toContain('carriage return');
});

describe('a cell', () => {
  it.each(['1.10', '1E3', '12E5', '02134', '123456789012345678', '7', 'true', 'NaN', ' a '])(
    'is text with its own characters where the plan does not add it up: %s',
    async (text) => {
      for (const column of ['order', 'zip', 'phone', 'kind', 'note']) {
        expect(await cell(column, text)).toBe(JSON.stringify(text));
        expect(await cell(column, `"${text}"`)).toBe(JSON.stringify(text));
      }
    },
  );

  it.each(['1.10', '1E3', '-0.5', '123456789012345678', '0'])(
    'is a number with its own characters where the plan adds it up: %s',
    async (text) => {
      expect(await cell('price', text)).toBe(text);
      expect(await cell('price', `"${text}"`)).toBe(text);
    },
  );

  it.each(['02134', '+5', '.5', 'n/a', '1_000', '0x10', 'Infinity', ' 5'])(
    'that the plan adds up and that is no number is refused by line and column: %s',
    async (text) => {
      const csv = `zip,price\n1,2\n2,"${text}"\n`;

      expect(await refusalOf('a.csv', csv, { plan })).toBe(
        `a.csv, line 3, column 2 (price): found ${JSON.stringify(text)}; the sum 'total' of view 'by_zip' needs numbers in this column: ` +
          "expected a number as JSON writes it, such as 1.5. --types 'price=text' sends the column as text, --null TEXT takes cells that read TEXT for empty ones",
      );
    },
  );

  it.each([
    ['7,50', 'decimal comma: replace it by a point'],
    ['1.234,50', 'decimal comma: replace it by a point, and take the points between thousands out'],
    ['1,234.50', 'commas between thousands: take them out'],
  ])('that has a comma is not offered as text: %s', async (text, advice) => {
    const refused = await refusalOf('a.csv', `zip,price\n1,"${text}"\n`, { plan });
    expect(refused).toContain(`such as 1.5. ${advice}`);
    expect(refused).not.toContain('--types');
  });

  it('with decimals, of a column that is summed, makes one remark about doubles', async () => {
    const { told } = await read('a.csv', 'zip,price\n1,2.50\n2,3.25\n', { plan });
    expect(told).toEqual([
      expect.stringContaining('column price has decimals, and sums are of binary doubles'),
    ]);
    expect((await read('b.csv', 'zip,price\n1,2\n2,3.00\n', { plan })).told).toEqual([]);
    expect((await read('c.csv', 'size,zip\n1.5,1\n', { plan })).told).toEqual([]);
  });

  it('of a column that is grouped by and added is a number only in its one spelling', async () => {
    expect(await cell('size', '1.5')).toBe('1.5');
    for (const text of ['1.50', '1E3', '9007199254740993']) {
      expect(await refusalOf('b.csv', `size\n${text}\n`, { plan })).toContain(
        "view 'sizes' groups by it: expected a number that has no other spelling",
      );
    }
  });

  it('of the time is a number where it is one, and text otherwise', async () => {
    expect(await cell('at', '1767225600')).toBe('1767225600');
    expect(await cell('at', '2026-01-01T00:00:00Z')).toBe('"2026-01-01T00:00:00Z"');
    expect(await cell('at', '1767225600.10')).toBe('"1767225600.10"');
  });

  it('is what --types says', async () => {
    expect(await cell('zip', '7', typed({ zip: 'number' }))).toBe('7');
    expect(await cell('price', '02134', typed({ price: 'text' }))).toBe('"02134"');
    expect(await cell('note', 'TRUE', typed({ note: 'boolean' }))).toBe('true');
    expect(await refusalOf('c.csv', 'note\nyes', { types: typed({ note: 'boolean' }) })).toContain(
      'c.csv, line 2, column 1 (note): found "yes"; expected true or false',
    );
  });

  it('that is empty is null; in quotes it is empty text, and null where a number belongs', async () => {
    expect(await cell('zip', '')).toBe('null');
    expect(await cell('zip', '""')).toBe('""');
    expect(await cell('price', '')).toBe('null');
    expect(await cell('price', '""')).toBe('null');
  });

  it('that says what --null names is null', async () => {
    const { texts } = await read('d.csv', 'zip,price\nNA,NA\n"NA",1\n', { plan, nullText: 'NA' });

    expect(texts).toEqual(['{"zip":null,"price":null}', '{"zip":null,"price":1}']);
  });

  it('is text everywhere where no plan is known, and that is said', async () => {
    const { texts, told } = await read('e.csv', 'price\n1\n');

    expect(texts).toEqual(['{"price":"1"}']);
    expect(told).toEqual([
      'e.csv: all its cells are sent as text, as it is not known which columns the pipeline adds up: name the pipeline file with --pipeline, or the numbers with --types COLUMN=number',
    ]);
  });

  it('under a name with a dot is no nested field', async () => {
    const dotted = planOf({ views: { v: { aggregates: { t: { sum: 'http\\.ms' } } } } });
    const nested = planOf({ views: { v: { aggregates: { t: { sum: 'http.ms' } } } } });

    expect((await read('f.csv', 'http.ms\n1\n', { plan: dotted })).texts).toEqual([
      '{"http.ms":1}',
    ]);
    expect((await read('f.csv', 'http.ms\n1\n', { plan: nested })).texts).toEqual([
      '{"http.ms":"1"}',
    ]);
    expect(await refusalOf('f.csv', 'a.b,c\n1,2\n', { types: typed({ a: 'text' }) })).toBe(
      "--types: there is no column 'a'; the columns are a\\.b, c",
    );
  });
});

describe('CSV', () => {
  it('keeps commas, quotes and line breaks of quoted fields', async () => {
    const { texts } = await read('a.csv', 'a,b\r\n"x, ""y""\r\nz\u2028","{""not"": 1}"');

    expect(texts).toEqual(['{"a":"x, \\"y\\"\\r\\nz\u2028","b":"{\\"not\\": 1}"}']);
  });

  it('gives a row the line on which it begins', async () => {
    const text = 'a,b\r\n"x\r\ny\r\n",2\r\n\r\n3,"4\n5"\n6,7\n';

    expect((await read('b.csv', text)).records.map(({ number }) => number)).toEqual([2, 6, 8]);
  });

  it('drops a byte order mark, and empty lines between rows', async () => {
    expect((await read('c.csv', '\ufeff"a",b\n1,2\n\n3,4\n\n')).texts).toEqual([
      '{"a":"1","b":"2"}',
      '{"a":"3","b":"4"}',
    ]);
  });

  it('takes an empty line as an empty field where there is one column', async () => {
    expect((await read('d.csv', 'a\n1\n\n2')).texts).toEqual([
      '{"a":"1"}',
      '{"a":null}',
      '{"a":"2"}',
    ]);
  });

  it('does not end a row at a lone CR', async () => {
    expect((await read('e.csv', 'a,b\n1\r2,3\r\n')).texts).toEqual(['{"a":"1\\r2","b":"3"}']);
  });

  it.each([
    [
      'a,b\n1,2\n1\n',
      'f.csv, line 3: the row has 1 field, and the header names 2: fields are missing',
    ],
    [
      'a,b\n"1\n",2\n1,2,3\n',
      'f.csv, line 4: the row has 3 fields, and the header names 2: put quotes',
    ],
    [
      'a,b\n1,2\n3,say "hi"\n4,5',
      'f.csv, the row that begins on line 3, field 2: it has a quote inside',
    ],
    [
      'a,b\n"1"2,3\n',
      'f.csv, the row that begins on line 2, field 1: after its closing quote more',
    ],
    [
      'a,b\r\n"x\r\n",1\r\n2,"3\r\n4,5\r\n',
      'begins on line 4, field 2: its opening quote is never closed',
    ],
    // The row that the parser held back comes before the refusal, and must not take its place.
    ['a,b\n1,2\n"\n', 'begins on line 3, field 1: its opening quote is never closed'],
    ['a,b\n1,2\n3,"', 'begins on line 3, field 2: its opening quote is never closed'],
    ['a,b\n"', 'begins on line 2, field 1: its opening quote is never closed'],
    ['"', 'begins on line 1, field 1: its opening quote is never closed'],
    ['a,b,a\n1,2,3', 'f.csv, line 1: columns 1 and 3 have the same name, "a"'],
    ['a,b;c,d;e\n1', 'separated by commas or semicolons: say it with --delimiter'],
  ])('is refused by line and field: %j', async (text, says) => {
    expect(await refusalOf('f.csv', text)).toContain(says);
  });

  it('that is not UTF-8 is refused by line and column', async () => {
    const text = Buffer.from('a,b\n1,2\n3,K\xf6ln\n', 'latin1');

    expect(await refusalOf('g.csv', text)).toBe(
      'g.csv, line 3, column 4: the text is not UTF-8. If it is Latin-1: iconv -f WINDOWS-1252 -t UTF-8',
    );
  });

  it('with a quote that is never closed does not take all memory', async () => {
    const rows = '1,2\n'.repeat(600_000);

    expect(await refusalOf('h.csv', `a,b\n1,"2\n${rows}`)).toMatch(
      /the row that begins on line 2, .* has more than 2,097,152 characters: probably an opening quote/,
    );
  });

  it('of old Macs is told by its CRs', async () => {
    expect(await refusalOf('i.csv', 'a,b\r1,2\r'.repeat(300_000))).toContain("tr '\\r' '\\n'");
  });

  it.each([
    [';', 'semicolons'],
    ['\t', 'TABs'],
    ['|', 'vertical bars'],
  ])('may have another delimiter, and that is said: %j', async (delimiter, name) => {
    const text = `a${delimiter}"b,${delimiter}c"\n1,5${delimiter}2\n`;
    const { texts, told } = await read('j.csv', text, { types: typed({ a: 'text' }) });

    expect(texts).toEqual([`{"a":"1,5",${JSON.stringify(`b,${delimiter}c`)}:"2"}`]);
    expect(told).toEqual([
      `j.csv: its fields are separated by ${name} (--delimiter says otherwise)`,
    ]);
  });

  it('takes the delimiter of a .tsv file, and the one that is named', async () => {
    expect((await read('k.tsv', 'a,b\tc\n1\t2\n')).texts).toEqual(['{"a,b":"1","c":"2"}']);
    expect((await read('k.csv', 'a,b;c\n1;2\n', { delimiter: ';' })).texts).toEqual([
      '{"a,b":"1","c":"2"}',
    ]);
  });

  it('is read from gzip, and where the user says that it is CSV', async () => {
    expect((await read('l.csv.gz', gzipSync('a\n1\n'))).texts).toEqual(['{"a":"1"}']);
    expect((await read('l.txt', 'a\n1\n', { format: 'csv' })).texts).toEqual(['{"a":"1"}']);
  });

  it('goes on from a line, whatever is wrong before it', async () => {
    const bad = Buffer.from('\xf6,"x"y\n', 'latin1');
    const text = Buffer.concat([Buffer.from('a,b\n1,2\n'), bad, Buffer.from('3,4\n5,6\n7,8')]);
    for (const fromNumber of [4, 5]) {
      const { records } = await read('m.csv', text, { fromNumber });

      expect(records[0]).toMatchObject({ number: fromNumber });
      expect(records).toHaveLength(7 - fromNumber);
    }
  });

  it('does not go on inside a row: text of a quoted field that looks like a row is none', async () => {
    const text = 'a,b\n1,2\n3,"x\n4,5\n""6"",7\n"\n8,9\n';
    for (const fromNumber of [4, 5, 6]) {
      expect(await refusalOf('p.csv', text, { fromNumber })).toBe(
        `p.csv: line ${fromNumber} is inside the row that begins on line 3, in a field in quotes that goes on over several lines or is never closed: begin with --from-line 3, or at a line after the end of that row`,
      );
    }
    expect((await read('p.csv', text, { fromNumber: 7 })).texts).toEqual(['{"a":"8","b":"9"}']);
    expect((await read('p.csv', text, { fromNumber: 3 })).texts).toHaveLength(2);
    expect(await refusalOf('q.csv', 'a,b\n1,"2\n3,4\n', { fromNumber: 3 })).toContain(
      'inside the row that begins on line 2',
    );
    // A quote that no field begins with opens none.
    for (const row of ['1"2,x', 'x,1"', '"x""",y']) {
      const { texts } = await read('r.csv', `a,b\n${row}\n3,4\n`, { fromNumber: 3 });
      expect(texts).toEqual(['{"a":"3","b":"4"}']);
    }
  });

  it('knows where rows begin, whatever separates the fields', async () => {
    for (const delimiter of [';', '§']) {
      const text = `a${delimiter}b\n1${delimiter}"x\n2${delimiter}3"\n4${delimiter}5\n`;
      const reading = { delimiter, fromNumber: 3 };
      expect(await refusalOf('s.csv', text, reading)).toContain('begins on line 2');
      expect((await read('s.csv', text, { delimiter, fromNumber: 4 })).texts).toEqual([
        '{"a":"4","b":"5"}',
      ]);
    }
  });

  it.each([
    ['sep=;\r\na,x;b\r\n1;2\r\n', ';'],
    ['\uFEFF"sep=|"\na,x|b\n1|2\n', '|'],
    ['SEP=\t\na,x\tb\n1\t2', 'TAB'],
  ])("takes the separator that Excel's first line states: %j, %s", async (text) => {
    const { texts, records } = await read('t.csv', text);

    expect(texts).toEqual(['{"a,x":"1","b":"2"}']);
    expect(records[0]).toMatchObject({ number: 3 });
    expect(await refusalOf('u.csv', `${text.trimEnd()}\n3`)).toContain('u.csv, line 4: the row');
  });

  it("Excel's first line does not hide a header of several lines, nor that there is none", async () => {
    const text = 'sep=;\n"a\nb";c\n1;2\n3;4\n';
    expect((await read('v.csv', text, { fromNumber: 5 })).texts).toEqual(['{"a\\nb":"3","c":"4"}']);
    expect((await read('w.csv', 'sep=;\n')).texts).toEqual([]);
    expect((await read('x.csv', 'sep=;\na\n')).texts).toEqual([]);
  });

  it('cut off at any byte gives no row that the whole file does not have', async () => {
    const text = Buffer.from('a,b\n1,"x\ny"\n"""2""",z\n"3","é"\n4,"5,""\n\n6"\n');
    const whole = (await readChunks([text])).texts;
    for (let end = 1; end < text.length; end++) {
      const cut = text.subarray(0, end);
      const isOpen = cut.toString('latin1').split('"').length % 2 === 0;
      const { texts, refused } = await readChunks([cut]);
      if (isOpen) expect(refused, `${end}`).not.toBeNull();
      // The last may be one that the cut shortened.
      const complete = texts.slice(0, -1);
      expect(whole.slice(0, complete.length), `${end}`).toEqual(complete);
    }
  });

  it.each([
    ['"note\n(free)";k;x\nn;a;1\nn;b;2\n', 1, 2],
    ['"note\n(free)",k,x\nn,a,1\n"n",b,2\n', 4, 1],
    ['\uFEFF"sep=|"\r\n"a\r\n""b\r\n"|"c,d"\r\n1|"2\r\n3"\r\n', 1, 1],
    ['"a\n\n\nb",c\n"1\n,",2\n3,4', 5, 2],
  ])('gives the same in whatever parts it comes: %j from line %i', async (text, from, count) => {
    const bytes = Buffer.from(text);
    const whole = await readChunks([bytes], from);
    expect(whole).toMatchObject({ refused: null, texts: { length: count } });
    for (let first = 0; first < bytes.length; first++) {
      for (let second = first; second < bytes.length; second++) {
        const cuts = [bytes.subarray(0, first), bytes.subarray(first, second)];
        const read = await readChunks([...cuts, bytes.subarray(second)], from);
        expect(read, `${first}, ${second}`).toEqual(whole);
      }
    }
  });

  it('with a header that is never closed is refused, in many small parts too', async () => {
    const rows = Array.from({ length: 4_000 }, () => Buffer.from('1;2,é\n'.repeat(400)));
    const { refused } = await readChunks([Buffer.from('a,"b\n'), ...rows]);

    expect(refused).toMatch(/row that begins on line 1, .* has more than 2,097,152 characters/);
  });

  it('has rows over the borders of chunks', async () => {
    const rows = Array.from({ length: 8_000 }, (_, index) => `${index},"é ""${index}"""`);
    const { records } = await read('n.csv', `a,b\r\n${rows.join('\r\n')}`);

    expect(records).toHaveLength(8_000);
    expect(records[7_999]).toMatchObject({ number: 8_001 });
    expect(Buffer.from(records[7_999]?.data ?? []).toString()).toBe(
      '{"a":"7999","b":"é \\"7999\\""}',
    );
  });
});
