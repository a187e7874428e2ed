/**
 * The records of a CSV file: one JSON object for each row, with the names of the header.
 */
import { formatFieldPath } from '../../core/definition/field-path.ts';
import type { Plan } from '../../core/definition/plan.ts';
import { shellQuoted } from '../shell-word.ts';
import { type Chunks, shown } from './byte-source.ts';
import { type ColumnTypes, type CsvColumn, csvColumns } from './csv-columns.ts';
import { type CsvReading, type CsvRow, csvRows } from './csv-rows.ts';
import { type FileRecord, RecordFileError } from './file-record.ts';

export interface CsvRecordReading extends CsvReading {
  readonly types: ColumnTypes;
  /** Null if it is not known: then all cells are text. */
  readonly plan: Plan | null;
}

export async function* csvRecords(
  chunks: Chunks,
  reading: CsvRecordReading,
): AsyncGenerator<FileRecord> {
  let header: Header | null = null;
  for await (const row of csvRows(chunks, reading)) {
    if (header === null) header = new Header(row, reading);
    else if (!header.isBlank(row)) yield header.record(row);
  }
}

class Header {
  readonly #columns: readonly CsvColumn[];
  readonly #names: readonly string[];
  readonly #file: string;

  constructor({ fields, line }: CsvRow, { name, types, plan, tell }: CsvRecordReading) {
    const names = fields.map((field) => field ?? '');
    this.#file = shown(name);
    refuseCarriageReturn(names, this.#file, line);
    refuseTwice(names, this.#file, line);
    if (plan === null && types.size === 0) {
      tell(
        `${this.#file}: all its cells are sent as text, as it is not known which columns the pipeline adds up: name the pipeline file with --pipeline, or the numbers with --types COLUMN=number`,
      );
    }
    this.#columns = csvColumns(names, types, plan, (text) => tell(`${this.#file}: ${text}`));
    this.#names = names.map((each) => JSON.stringify(each));
  }

  /** A line without anything is no row, unless there is one column: then its field is empty. */
  isBlank({ fields }: CsvRow): boolean {
    return fields.length === 1 && fields[0] === null && this.#names.length > 1;
  }

  record({ fields, line }: CsvRow): FileRecord {
    if (fields.length !== this.#names.length) this.#refuseLength(fields.length, line);
    let json = '{';
    for (let index = 0; index < fields.length; index++) {
      const cell = fields[index] ?? null;
      json += `${index === 0 ? '' : ','}${this.#names[index]}:${this.#value(cell, index, line)}`;
    }
    return { data: Buffer.from(`${json}}`), unit: 'line', number: line };
  }

  #value(cell: string | null, index: number, line: number): string {
    if (cell === null) return 'null';
    const { name, toJson } = this.#columns[index] as CsvColumn;
    const found = toJson(cell);
    if ('json' in found) return found.json;
    const column = formatFieldPath([name]);
    const shortened = JSON.stringify(cell.slice(0, CELL_SHOWN));
    const advice =
      found.advice ??
      `--types ${shellQuoted(`${column}=text`)} sends the column as text, --null TEXT takes cells that read TEXT for empty ones`;
    throw new RecordFileError(
      `${this.#file}, line ${line}, column ${index + 1} (${column}): found ${shortened}; ${found.problem}. ${advice}`,
      line,
    );
  }

  #refuseLength(found: number, line: number): never {
    const expected = this.#names.length;
    const hint =
      found > expected
        ? 'put quotes around a field that has the separator in it'
        : 'fields are missing at its end';
    throw new RecordFileError(
      `${this.#file}, line ${line}: the row has ${found} ${found === 1 ? 'field' : 'fields'}, and the header names ${expected}: ${hint}`,
      line,
    );
  }
}

const CELL_SHOWN = 60;

/** A file whose lines end in CR alone would be one long header, and its records would be missed in silence. */
function refuseCarriageReturn(names: readonly string[], file: string, line: number): void {
  const index = names.findIndex((name) => /\r(?!\n)/.test(name));
  if (index < 0) return;
  throw new RecordFileError(
    `${file}, line ${line}, column ${index + 1}: the header has a carriage return in a name, so the lines of the file seem to end in CR alone. They must end in LF or CR LF: convert the file first, for example with tr '\\r' '\\n'`,
    line,
  );
}

function refuseTwice(names: readonly string[], file: string, line: number): void {
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name);
    if (first === index) continue;
    throw new RecordFileError(
      `${file}, line ${line}: columns ${first + 1} and ${index + 1} have the same name, ${JSON.stringify(name)}: a record has room for one`,
      line,
    );
  }
}
