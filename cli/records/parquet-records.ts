/**
 * The records of a Parquet file: one JSON object for each row. Integers of any width and decimals keep their digits, times all
 * their decimals; a time that the file says is of no zone has no offset. What JSON has no way to say is refused by row.
 */
import { type FileMetaData, type ParquetParsers, parquetSchema, type SchemaTree } from 'hyparquet';
import { type FileRecord, RecordFileError, refuseTooShort } from './file-record.ts';
import { parquetColumns } from './parquet-columns.ts';

export async function* parquetRecords(
  path: string,
  { nullText, fromNumber }: { readonly nullText: string | null; readonly fromNumber: number },
): AsyncGenerator<FileRecord> {
  let fields: Field[] = [];
  const onMetadata = (metadata: FileMetaData) => {
    fields = fieldsOf(metadata, { path, nullText });
  };
  let number = 0;
  try {
    for await (const columns of parquetColumns(path, {
      parsers: PARSERS,
      utf8: false,
      onMetadata,
    })) {
      const read = fields
        .map((field) => ({ ...field, values: columns[field.name] }))
        .filter(({ values }) => values !== undefined);
      const rowCount = read[0]?.values?.length ?? 0;
      for (let row = 0; row < rowCount; row++) {
        number++;
        if (number < fromNumber) continue;
        const members = read.map(
          ({ member, toJson, values }) => `${member}:${toJson(values?.[row], number)}`,
        );
        yield { data: Buffer.from(`{${members.join(',')}}`), unit: 'row', number };
      }
    }
    refuseTooShort(path, 'row', number, fromNumber);
  } catch (cause) {
    if (cause instanceof RecordFileError) throw cause;
    const said = cause instanceof Error ? cause.message : String(cause);
    throw new RecordFileError(`${path} cannot be read as Parquet: ${said}`, number + 1, cause);
  }
}

interface Field {
  readonly name: string;
  /** The name as JSON. */
  readonly member: string;
  readonly toJson: (value: unknown, row: number) => string;
}

type ToJson = Field['toJson'];

interface Place {
  readonly path: string;
  readonly nullText: string | null;
}

function fieldsOf(metadata: FileMetaData, place: Place): Field[] {
  return parquetSchema(metadata).children.map((tree) => {
    const { name } = tree.element;
    return { name, member: JSON.stringify(name), toJson: jsonOf(tree, place) };
  });
}

/** The JSON of what `tree` stands for: a scalar, a list, a map or a struct, of any depth. */
function jsonOf(tree: SchemaTree, place: Place): ToJson {
  const one = jsonOfOne(tree, place);
  return (value, row) => {
    if (value === undefined || value === null) return 'null';
    return Array.isArray(value) && !isList(tree)
      ? `[${value.map((each) => (each == null ? 'null' : one(each, row))).join(',')}]`
      : one(value, row);
  };
}

function jsonOfOne(tree: SchemaTree, place: Place): ToJson {
  const { element, children } = tree;
  if (children.length === 0) return scalarOf(tree, place);
  const [repeated] = children;
  if (isList(tree) && repeated !== undefined) {
    // Three levels as the format says today, or two as writers did before.
    const item = repeated.children.length === 1 ? repeated.children[0] : undefined;
    const each = jsonOf(
      item ?? { ...repeated, element: { ...repeated.element, repetition_type: 'OPTIONAL' } },
      place,
    );
    return (value, row) => `[${(value as unknown[]).map((part) => each(part, row)).join(',')}]`;
  }
  const members = new Map(children.map((child) => [child.element.name, jsonOf(child, place)]));
  const mapped =
    element.converted_type === 'MAP' && repeated?.children[1] !== undefined
      ? jsonOf(repeated.children[1], place)
      : null;
  return (value, row) => {
    const parts = Object.entries(value as object).map(([name, part]) => {
      const toJson = mapped ?? members.get(name);
      return `${JSON.stringify(name)}:${toJson?.(part, row) ?? 'null'}`;
    });
    return `{${parts.join(',')}}`;
  };
}

function isList({ element, children }: SchemaTree): boolean {
  return element.converted_type === 'LIST' && children.length === 1;
}

function scalarOf(tree: SchemaTree, { path, nullText }: Place): ToJson {
  const { element } = tree;
  const column = tree.path.join('.');
  const refuse = (row: number, what: string): never => {
    throw new RecordFileError(`${path}, row ${row}, column '${column}': ${what}`, row);
  };
  const isLocal =
    element.logical_type?.type === 'TIMESTAMP' && !element.logical_type.isAdjustedToUTC;
  const isEnum = element.converted_type === 'ENUM';
  const decimal = takeDecimal(tree);
  return (value, row) => {
    if (decimal !== null) return decimalText(value, decimal.scale);
    if (typeof value === 'bigint') return value.toString();
    if (typeof value === 'number' && !Number.isFinite(value)) {
      if (nullText === String(value)) return 'null';
      return refuse(
        row,
        `found ${value}, for which JSON has no number; --null ${value} sends null instead`,
      );
    }
    if (value instanceof Instant) return JSON.stringify(value.toText(isLocal));
    if (value instanceof JsonText) return value.text;
    if (value instanceof NotText) return refuse(row, 'its text is not UTF-8');
    if (value instanceof Uint8Array) {
      const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      return JSON.stringify(bytes.toString(isEnum ? 'utf8' : 'base64'));
    }
    return plainJson(value);
  };
}

/** Of what has no schema here, such as a variant. */
function plainJson(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${value.map(plainJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${plainJson(member)}`,
  );
  return `{${members.join(',')}}`;
}

/**
 * hyparquet makes a number of a decimal, which has too few digits. So it is not told that the column holds decimals, and gives
 * their unscaled integers, or the bytes of these.
 */
function takeDecimal({ element }: SchemaTree): { readonly scale: number } | null {
  const isDecimal =
    element.converted_type === 'DECIMAL' || element.logical_type?.type === 'DECIMAL';
  if (!isDecimal) return null;
  const logical = element.logical_type;
  const scale = logical?.type === 'DECIMAL' ? logical.scale : (element.scale ?? 0);
  delete element.converted_type;
  delete element.logical_type;
  return { scale };
}

function decimalText(value: unknown, scale: number): string {
  const unscaled =
    value instanceof Uint8Array ? signedInteger(value) : BigInt(value as number | bigint);
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const point = digits.length - scale;
  const fraction = scale === 0 ? '' : `.${digits.slice(point)}`;
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, point)}${fraction}`;
}

/** Two's complement, the highest byte first. */
function signedInteger(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = value * 256n + BigInt(byte);
  return BigInt.asIntN(8 * bytes.length, value);
}

/** A moment with all the decimals that the file has. */
class Instant {
  readonly #nanos: bigint;
  readonly #decimals: number;

  constructor(count: bigint, decimals: number) {
    this.#nanos = count * 10n ** BigInt(9 - decimals);
    this.#decimals = decimals;
  }

  /** ISO 8601; without offset where it is of no zone. */
  toText(isLocal: boolean): string {
    const millis = BigInt.asIntN(64, this.#nanos) / 1_000_000n;
    const rest = this.#nanos - millis * 1_000_000n;
    // Before 1970 the rest is negative: one millisecond less, and what is missing to it.
    const floor = rest < 0n ? millis - 1n : millis;
    const below = (rest < 0n ? rest + 1_000_000n : rest).toString().padStart(6, '0');
    const text = new Date(Number(floor)).toISOString().slice(0, -1);
    const decimals = below.slice(0, this.#decimals - 3);
    return `${text}${/^0*$/.test(decimals) ? '' : decimals}${isLocal ? '' : 'Z'}`;
  }
}

class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

class NotText {}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): string | NotText {
  try {
    return decoder.decode(bytes);
  } catch {
    return new NotText();
  }
}

const PARSERS: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (count) => (count == null ? count : new Instant(count, 3)),
  timestampFromMicroseconds: (count) => (count == null ? count : new Instant(count, 6)),
  timestampFromNanoseconds: (count) => (count == null ? count : new Instant(count, 9)),
  dateFromDays: (days) =>
    days == null ? days : new Date(days * 86_400_000).toISOString().slice(0, 10),
  stringFromBytes: (bytes) => bytes && textOf(bytes),
  jsonFromBytes(bytes) {
    const text = bytes && textOf(bytes);
    return typeof text === 'string' ? new JsonText(text) : text;
  },
};
