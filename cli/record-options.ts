/**
 * Options of the commands that read records from a file, the same in each.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseFieldPath } from '../core/definition/field-path.ts';
import type { Plan } from '../core/definition/plan.ts';
import type { ColumnType, ColumnTypes } from './records/csv-columns.ts';
import { RECORD_FORMATS, type RecordFormat, type RecordReading } from './records/record-file.ts';
import { SourceStop } from './records/source-stop.ts';

export const RECORD_FILE_DESCRIPTION =
  'an .ndjson, .json, .csv, .tsv or .parquet file, also .gz or .zst, or - for stdin';

export interface RecordOptions {
  readonly format?: RecordFormat;
  readonly delimiter?: string;
  readonly types?: ColumnTypes;
  readonly null?: string;
}

export function addRecordOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--format <format>',
        'what is in the file (default: what it begins with, and its name)',
      ).choices(RECORD_FORMATS),
    )
    .option(
      '--delimiter <character>',
      'what separates the fields of CSV, such as ; or tab',
      delimiter,
    )
    .option(
      '--types <column=type,…>',
      'what columns of CSV are: text, number or boolean (default: text, but numbers where the pipeline adds them up)',
      types,
    )
    .option(
      '--null <text>',
      'what a cell says that has no value, besides nothing, such as NA or NaN',
    );
}

/** `tell` is told what the reader decided by itself. */
export function readingOf(
  options: RecordOptions,
  plan: Plan | null,
  tell: (text: string) => void,
): RecordReading {
  return {
    format: options.format ?? null,
    delimiter: options.delimiter ?? null,
    types: options.types ?? new Map(),
    nullText: options.null ?? null,
    plan,
    fromNumber: 1,
    tell,
    stop: new SourceStop(),
  };
}

const DELIMITER_NAMES: Readonly<Record<string, string>> = {
  tab: '\t',
  '\\t': '\t',
  comma: ',',
  semicolon: ';',
  pipe: '|',
};

function delimiter(text: string): string {
  const character = DELIMITER_NAMES[text] ?? text;
  if (character.length !== 1 || /["\r\n]/.test(character)) {
    throw new InvalidArgumentError('expected one character, or comma, semicolon, tab or pipe.');
  }
  return character;
}

const COLUMN_TYPES: readonly string[] = ['text', 'number', 'boolean'] satisfies ColumnType[];

function types(text: string, earlier: ColumnTypes = new Map()): ColumnTypes {
  const all = new Map(earlier);
  // A comma that belongs to a name is followed by no type.
  for (const part of text.split(/(?<==(?:text|number|boolean)),/)) {
    const [, column = '', type = ''] = /^(.*)=(\w+)$/s.exec(part) ?? [];
    const path = parseFieldPath(column);
    if (path === null || !COLUMN_TYPES.includes(type)) {
      throw new InvalidArgumentError(
        `'${part}': expected a column and text, number or boolean, such as zip=text,price=number.`,
      );
    }
    const [name] = path;
    if (name === undefined || path.length > 1) {
      throw new InvalidArgumentError(
        `'${column}': a column of CSV is not nested; a dot in its name is written \\.: '${path.join('\\.')}'.`,
      );
    }
    all.set(name, type as ColumnType);
  }
  return all;
}
