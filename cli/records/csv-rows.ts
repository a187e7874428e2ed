/**
 * Rows of CSV by RFC 4180, strictly: a quote stands around a whole field or, doubled, in a quoted one. LF and CR LF end a row.
 * Lines are counted here, in bytes, as the parser counts a CR in a quoted field as a line of its own.
 */
import { isUtf8 } from 'node:buffer';
import { type CsvError, type Options, type Parser, parse } from 'csv-parse';
import { type Chunks, shown } from './byte-source.ts';
import { countOf, LINE_FEED, ROW_LENGTH_MAX, textBlocks } from './csv-blocks.ts';
import { RowPassing } from './csv-row-passing.ts';
import { RecordFileError, refuseTooShort } from './file-record.ts';
import type { SourceStop } from './source-stop.ts';

export interface CsvRow {
  /** Null for a field of no characters and no quotes, and for one that has the text of none. */
  readonly fields: readonly (string | null)[];
  /** Where it begins. */
  readonly line: number;
}

export interface CsvReading {
  /** For messages; `-` is stdin. */
  readonly name: string;
  /** One character; null finds out. */
  readonly delimiter: string | null;
  /** What a cell says that has no value, besides nothing at all. */
  readonly nullText: string | null;
  /** Lines between the header and this one are passed over, whatever is wrong with them. */
  readonly fromNumber: number;
  /** Told of a delimiter that was found out and is no comma. */
  readonly tell: (text: string) => void;
  /** Where the source is stopped, its last row is cut off, and does not come. */
  readonly stop: SourceStop;
}

const QUOTE = 0x22;

export async function* csvRows(chunks: Chunks, reading: CsvReading): AsyncGenerator<CsvRow> {
  const { fromNumber, stop, tell } = reading;
  const file = shown(reading.name);
  let rows: RowParser | null = null;
  let passing: RowPassing | null = null;
  let lineCount = 0;
  for await (const block of textBlocks(chunks, file, stop)) {
    const { bytes, line } = block;
    lineCount = line - 1 + countOf(LINE_FEED, bytes) + (bytes.at(-1) === LINE_FEED ? 0 : 1);
    if (rows === null || passing === null) {
      const delimiter = reading.delimiter ?? block.delimiter ?? delimiterOf(bytes, file, tell);
      rows = new RowParser(file, delimiter, { ...reading, line });
      passing = new RowPassing(file, delimiter, fromNumber);
      yield* await rows.parse(checked(bytes, file, line));
      continue;
    }
    const kept = passing.rest(bytes, line);
    if (kept.length > 0) {
      yield* await rows.parse(checked(kept, file, Math.max(line, fromNumber)));
    }
  }
  if (stop.isStopped) return;
  refuseTooShort(file, 'line', lineCount, fromNumber);
  if (rows !== null) yield* await rows.end();
}

class RowParser {
  readonly #file: string;
  readonly #options: Options<(string | null)[]>;
  #parser: Parser;
  #rows: CsvRow[] = [];
  #failure: CsvError | null = null;
  /** On which the next row begins. */
  #line: number;
  /** Offsets after line feeds; the first so many lie before the next row. */
  #lineStarts: number[] = [];
  #passed = 0;
  #parsedBytes = 0;
  /** In what was parsed. Rows are whole where they are in pairs: all else is a failure. */
  #quotes = 0;

  constructor(
    file: string,
    delimiter: string,
    {
      nullText,
      fromNumber,
      line,
    }: Pick<CsvReading, 'nullText' | 'fromNumber'> & { readonly line: number },
  ) {
    this.#file = file;
    this.#line = line;
    const isNull = (value: string, quoting: boolean) =>
      value === nullText || (value === '' && !quoting);
    let isHeader = true;
    this.#options = {
      delimiter,
      record_delimiter: ['\r\n', '\n'],
      // Judged by who has the header.
      relax_column_count: true,
      max_record_size: ROW_LENGTH_MAX,
      cast: (value, { quoting }) => (isNull(value, quoting) ? null : value),
      on_record: (fields, { bytes }) => {
        this.#rows.push({ fields, line: this.#line });
        this.#moveTo(bytes);
        if (isHeader) this.#line = Math.max(this.#line, fromNumber);
        isHeader = false;
        return null;
      },
    };
    this.#parser = this.#start();
  }

  #start(): Parser {
    const parser = parse(this.#options as Options);
    parser.on('error', (error: CsvError) => {
      this.#failure ??= error;
    });
    parser.resume();
    this.#parsedBytes = 0;
    this.#lineStarts = [];
    this.#passed = 0;
    return parser;
  }

  /** The rows that end in `block`, and then the failure, if there is one. */
  async parse(block: Buffer): Promise<Iterable<CsvRow>> {
    this.#lineStarts.splice(0, this.#passed);
    this.#passed = 0;
    for (let at = block.indexOf(LINE_FEED); at >= 0; at = block.indexOf(LINE_FEED, at + 1)) {
      this.#lineStarts.push(this.#parsedBytes + at + 1);
    }
    this.#parsedBytes += block.length;
    this.#quotes += countOf(QUOTE, block);
    await this.#parseWhole(block);
    return this.#told();
  }

  /** A parser holds its last row back until more comes, which may be long: so it is ended where its rows are whole. */
  async #parseWhole(block: Buffer): Promise<void> {
    await new Promise<void>((resolve) => this.#parser.write(block, () => resolve()));
    if (this.#failure !== null || this.#quotes % 2 !== 0) return;
    await this.#end();
    this.#parser = this.#start();
  }

  /** The rows that were held back, and then the failure, if there is one. */
  async end(): Promise<Iterable<CsvRow>> {
    await this.#end();
    return this.#told();
  }

  async #end(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#parser.once('close', resolve));
    this.#parser.end();
    await closed;
  }

  *#told(): Generator<CsvRow> {
    const rows = this.#rows;
    this.#rows = [];
    yield* rows;
    if (this.#failure !== null) throw this.#refusal(this.#failure);
  }

  #moveTo(offset: number): void {
    const starts = this.#lineStarts;
    while (this.#passed < starts.length && (starts[this.#passed] as number) <= offset) {
      this.#passed++;
      this.#line++;
    }
  }

  #refusal({ code, column, message }: CsvError): RecordFileError {
    const field = typeof column === 'number' ? `field ${column + 1}` : 'a field';
    const where = `${this.#file}, the row that begins on line ${this.#line}, ${field}`;
    return new RecordFileError(`${where}: ${EXPLAINED[code] ?? message}`, this.#line);
  }
}

const EXPLAINED: Readonly<Record<string, string>> = {
  INVALID_OPENING_QUOTE:
    'it has a quote inside and none around it. RFC 4180 wants quotes around such a field, and the ones inside doubled: "say ""hi"""',
  CSV_INVALID_CLOSING_QUOTE:
    'after its closing quote more follows. RFC 4180 wants a quote inside a quoted field doubled: "say ""hi"""',
  CSV_QUOTE_NOT_CLOSED: 'its opening quote is never closed',
  CSV_MAX_RECORD_SIZE: `the row has more than ${ROW_LENGTH_MAX.toLocaleString('en-US')} characters: probably an opening quote that is never closed`,
};

function checked(block: Buffer, file: string, firstLine: number): Buffer {
  if (!isUtf8(block)) throw notUtf8(block, file, firstLine - 1);
  return block;
}

function notUtf8(block: Buffer, file: string, linesBefore: number): RecordFileError {
  let line = linesBefore;
  for (let from = 0; from < block.length; ) {
    line++;
    const end = block.indexOf(LINE_FEED, from) + 1 || block.length;
    const bytes = block.subarray(from, end);
    if (!isUtf8(bytes)) {
      return new RecordFileError(
        `${file}, line ${line}, column ${columnOfBadByte(bytes)}: the text is not UTF-8. If it is Latin-1: iconv -f WINDOWS-1252 -t UTF-8`,
        line,
      );
    }
    from = end;
  }
  return new RecordFileError(`${file} is not UTF-8`, line);
}

/** In characters, from 1 on. */
function columnOfBadByte(bytes: Buffer): number {
  let end = 1;
  const stream = new TextDecoder('utf-8', { fatal: true });
  try {
    for (; end <= bytes.length; end++)
      stream.decode(bytes.subarray(end - 1, end), { stream: true });
  } catch {
    // That byte is it, or ends a character that began before it.
  }
  return (
    bytes
      .subarray(0, end - 1)
      .toString('utf8')
      .replace(/\uFFFD$/, '').length + 1
  );
}

const DELIMITERS: Readonly<Record<string, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'TABs',
  '|': 'vertical bars',
};

/** By the header: the one that stands most often outside of quotes. */
function delimiterOf(block: Buffer, file: string, tell: (text: string) => void): string {
  const text = block.toString('utf8');
  const header = /^(?:"(?:[^"]|"")*"|[^"\n])*/.exec(text)?.[0] ?? '';
  const bare = header.replace(/"(?:[^"]|"")*"/g, '');
  const counts = Object.keys(DELIMITERS)
    .map((delimiter) => ({ delimiter, count: bare.split(delimiter).length - 1 }))
    .sort((a, b) => b.count - a.count);
  const [first, second] = counts;
  if (first === undefined || first.count === 0) return ',';
  if (first.count === second?.count) {
    const names = `${DELIMITERS[first.delimiter]} or ${DELIMITERS[second.delimiter]}`;
    throw new RecordFileError(
      `${file}, line 1: its fields may be separated by ${names}: say it with --delimiter`,
      1,
    );
  }
  if (first.delimiter !== ',') {
    tell(
      `${file}: its fields are separated by ${DELIMITERS[first.delimiter]} (--delimiter says otherwise)`,
    );
  }
  return first.delimiter;
}
