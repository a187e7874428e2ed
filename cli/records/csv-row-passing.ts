/**
 * Passes over the rows of a CSV file before the line to begin at, whatever is wrong with them, and knows where rows begin: text
 * of a quoted field that looks like a row is none. A quote means something only where a field begins with it.
 */
import { RecordFileError } from './file-record.ts';

const LINE_FEED = 0x0a;
const QUOTE = 0x22;

type Place = 'field-start' | 'bare' | 'quoted' | 'after-quote';

export class RowPassing {
  readonly #file: string;
  readonly #delimiter: Buffer;
  readonly #fromLine: number;
  #place: Place = 'field-start';
  #isOver = false;
  /** Where the row begins that is passed over now. */
  #rowLine = 0;

  constructor(file: string, delimiter: string, fromLine: number) {
    this.#file = file;
    this.#delimiter = Buffer.from(delimiter);
    this.#fromLine = fromLine;
  }

  /** What of `block` is not passed over. Blocks are whole lines in order, the first after the header; `line` is its first. */
  rest(block: Buffer, line: number): Buffer {
    if (this.#isOver) return block;
    if (this.#rowLine === 0) this.#rowLine = line;
    let from = 0;
    for (let at = line; at < this.#fromLine; at++) {
      const end = block.indexOf(LINE_FEED, from) + 1;
      this.#pass(block.subarray(from, end === 0 ? block.length : end), at);
      if (end === 0) return block.subarray(block.length);
      from = end;
      if (from === block.length && at + 1 < this.#fromLine) return block.subarray(from);
    }
    this.#isOver = true;
    if (this.#place === 'quoted') throw this.#refusal();
    return block.subarray(from);
  }

  #pass(bytes: Buffer, line: number): void {
    for (let index = 0; index < bytes.length; index++) {
      const byte = bytes[index] as number;
      if (this.#place === 'quoted') {
        if (byte === QUOTE) this.#place = 'after-quote';
      } else if (byte === QUOTE && this.#place !== 'bare') this.#place = 'quoted';
      else if (byte === LINE_FEED) {
        this.#place = 'field-start';
        this.#rowLine = line + 1;
      } else this.#place = this.#isDelimiterEnd(bytes, index) ? 'field-start' : 'bare';
    }
  }

  #isDelimiterEnd(bytes: Buffer, index: number): boolean {
    const { length } = this.#delimiter;
    return bytes.subarray(Math.max(0, index + 1 - length), index + 1).equals(this.#delimiter);
  }

  #refusal(): RecordFileError {
    return new RecordFileError(
      `${this.#file}: line ${this.#fromLine} is inside the row that begins on line ${this.#rowLine}, in a field in quotes that goes on over several lines or is never closed: begin with --from-line ${this.#rowLine}, or at a line after the end of that row`,
    );
  }
}
