/**
 * The records of one JSON text: the elements of an array, or objects one after the other, each spread over lines as it likes.
 * What is no JSON there is refused with line and column, as it leaves open where the next record begins.
 */
import { JsonValueScanner, skipJsonSpace } from '../../core/decode/json-value-scanner.ts';
import { RECORD_BYTES_MAX } from '../../core/limits.ts';
import type { ChunkBuffer } from './chunk-buffer.ts';
import { type FileRecord, RecordFileError, refuseTooShort, tooLarge } from './file-record.ts';

const COMMA = 0x2c;
const CLOSING_BRACKET = 0x5d;
const LINE_FEED = 0x0a;
/** Of bytes that go on a character: no columns of their own. */
const CONTINUATION_MASK = 0xc0;
const CONTINUATION = 0x80;

export interface DocumentReading {
  /** For messages. */
  readonly file: string;
  readonly form: 'array' | 'values';
  /** Records before it are passed over, however large. */
  readonly fromNumber: number;
}

/** `buffer` begins before the text's first byte. */
export async function* documentRecords(
  buffer: ChunkBuffer,
  { file, form, fromNumber }: DocumentReading,
): AsyncGenerator<FileRecord> {
  const text = new JsonText(buffer, file);
  if (form === 'array') {
    await text.next();
    text.skip(1);
  }
  let count = 0;
  for (let number = 1; ; number++) {
    const byte = await text.next();
    if (byte === undefined) {
      if (form === 'values') return refuseTooShort(file, 'element', count, fromNumber);
      throw text.refusal('the array is not closed: the file is cut off', number);
    }
    if (form === 'array' && byte === CLOSING_BRACKET && number === 1) break;
    const data = await text.value(number, number < fromNumber);
    count = number;
    if (data !== null) yield { data, unit: 'element', number };
    if (form === 'values') continue;
    const separator = await text.next();
    if (separator === CLOSING_BRACKET) break;
    if (separator === undefined) continue;
    if (separator !== COMMA)
      throw text.refusal('expected a comma or the end of the array', number + 1);
    text.skip(1);
  }
  text.skip(1);
  if ((await text.next()) !== undefined) {
    throw text.refusal('the array has ended, and more follows it', null);
  }
  refuseTooShort(file, 'element', count, fromNumber);
}

/** A text that is read value by value; it knows its line and column. */
class JsonText {
  readonly #buffer: ChunkBuffer;
  readonly #file: string;
  #line = 1;
  #column = 1;

  constructor(buffer: ChunkBuffer, file: string) {
    this.#buffer = buffer;
    this.#file = file;
  }

  /** The next byte that is no whitespace; it stays. Undefined at the end. */
  async next(): Promise<number | undefined> {
    for (;;) {
      this.skip(skipJsonSpace(this.#buffer.bytes, 0));
      if (this.#buffer.bytes.length > 0) return this.#buffer.bytes[0];
      if (!(await this.#buffer.more())) return undefined;
    }
  }

  /** Takes the value that begins here, of the record `number`. One that is passed over is null, and is not held. */
  async value(number: number, isPassedOver: boolean): Promise<Uint8Array | null> {
    const scanner = new JsonValueScanner();
    let scanned = 0;
    let end = scanner.end(this.#buffer.bytes, scanned);
    while (end < 0) {
      scanned = this.#buffer.bytes.length;
      if (isPassedOver) {
        this.skip(scanned);
        scanned = 0;
      } else if (scanned > RECORD_BYTES_MAX) throw this.#tooLarge(number);
      if (await this.#buffer.more()) end = scanner.end(this.#buffer.bytes, scanned);
      else end = scanned;
    }
    const bytes = this.#buffer.bytes.subarray(0, end);
    if (!isPassedOver && !isJson(bytes)) throw this.refusal('what begins here is not JSON', number);
    this.skip(end);
    return isPassedOver ? null : bytes;
  }

  #tooLarge(number: number): RecordFileError {
    const where = `${this.#file}, element ${number} on line ${this.#line}`;
    return tooLarge(where, `more than ${RECORD_BYTES_MAX.toLocaleString('en-US')}`, number);
  }

  skip(count: number): void {
    for (let index = 0; index < count; index++) {
      const byte = this.#buffer.bytes[index] as number;
      if (byte === LINE_FEED) {
        this.#line++;
        this.#column = 1;
      } else if ((byte & CONTINUATION_MASK) !== CONTINUATION) this.#column++;
    }
    this.#buffer.drop(count);
  }

  refusal(what: string, number: number | null): RecordFileError {
    return new RecordFileError(
      `${this.#file}, line ${this.#line}, column ${this.#column}: ${what}`,
      number,
    );
  }
}

const decoder = new TextDecoder();

/** Judges the structure alone: bytes that are no UTF-8 may stand in strings, and are sent as they are. */
export function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(decoder.decode(bytes));
    return true;
  } catch {
    return false;
  }
}
