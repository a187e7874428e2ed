/**
 * The partition key of a record: the value of a field, as text. Two different values never become one because of how they are
 * read: what is no valid text is refused.
 */
import { isUtf8 } from 'node:buffer';
import {
  isJsonObject,
  type JsonObject,
  parseJsonObject,
  valueAt,
} from '../core/decode/field-lookup.ts';
import { otherSpelling } from '../core/decode/other-spelling.ts';
import { type FieldPath, formatFieldPath, parseFieldPath } from '../core/definition/field-path.ts';
import { PARTITION_KEY_LENGTH_MAX } from '../core/limits.ts';
import { type FileRecord, RecordFileError } from './records/file-record.ts';
import { shellQuoted } from './shell-word.ts';
import { UsageError } from './usage-error.ts';

/** Of records that have no readable value in the key field: they are sent, and the pipeline judges them. */
export const NO_KEY = '-';
const FIELDS_SHOWN = 20;

export class PartitionKeys {
  readonly #path: FieldPath;
  readonly #text: string;
  readonly #file: string;
  #isSeen = false;
  withoutKey = 0;

  /** `field` as in a pipeline file: dots reach into nested fields, `\.` is a dot in a name. `file` is for messages. */
  constructor(field: string, file: string) {
    const path = parseFieldPath(field);
    if (path === null) {
      throw new UsageError(
        `--key ${field}: expected a field such as origin or address.city; a dot in a name is written \\.`,
      );
    }
    this.#path = path;
    this.#text = field;
    this.#file = file;
  }

  /** Throws `UsageError` if the first record with fields lacks the key's: a typo would put everything into one shard. */
  keyOf(record: FileRecord): string {
    const object = parseJsonObject(record.data);
    const value = object === null ? undefined : valueAt(object, this.#path);
    if (value === undefined && object !== null && !this.#isSeen) this.#refuseField(object);
    const key = this.#textOf(value, record);
    if (key === null) this.withoutKey++;
    else this.#isSeen = true;
    return key ?? NO_KEY;
  }

  #textOf(value: unknown, record: FileRecord): string | null {
    // All doubles beyond are integers or infinite: the record has the digits.
    if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
      return firstCharacters(digitsAt(record.data, this.#path) ?? String(value));
    }
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    if (typeof value !== 'string' || value === '') return null;
    const isText = value.isWellFormed() && !(value.includes('\uFFFD') && !isUtf8(record.data));
    if (!isText) throw this.#notText(record);
    return firstCharacters(value);
  }

  #notText({ unit, number }: FileRecord): RecordFileError {
    return new RecordFileError(
      `${this.#file}, ${unit} ${number}: the value of --key ${this.#text} is not valid UTF-8, and as a partition key it would become one with others. If the file is Latin-1: iconv -f WINDOWS-1252 -t UTF-8`,
      number,
    );
  }

  #refuseField(record: JsonObject): never {
    const other = otherSpelling(record, this.#path);
    const names = Object.keys(record)
      .slice(0, FIELDS_SHOWN)
      .map((name) => formatFieldPath([name]));
    const instead =
      other === null ? '' : `; did you mean --key ${shellQuoted(formatFieldPath(other.path))}?`;
    throw new UsageError(
      `--key ${this.#text}: the first record has no such field; it has ${names.join(', ') || 'none'}${instead}`,
    );
  }
}

const decoder = new TextDecoder();

type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;

/** The digits of an integer that a double cannot hold, as the record has them. */
function digitsAt(data: Uint8Array, path: FieldPath): string | null {
  const asText: Reviver = (_, value, { source }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) ? source : value;
  const record: unknown = JSON.parse(
    decoder.decode(data),
    asText as Parameters<typeof JSON.parse>[1],
  );
  const digits = isJsonObject(record) ? valueAt(record, path) : null;
  return typeof digits === 'string' ? digits : null;
}

/** As many as Kinesis takes, and none of them cut in two. */
function firstCharacters(text: string): string {
  const start = text.slice(0, PARTITION_KEY_LENGTH_MAX);
  return start.isWellFormed() ? start : start.slice(0, -1);
}
