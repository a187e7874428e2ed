/**
 * Lines of bytes. LF and CR LF end a line and nothing else does: not U+2028, not U+2029, not a CR alone. Bytes are never
 * decoded here, so that they come out as they went in.
 */
import type { Chunks } from './byte-source.ts';
import { refuseTooShort, tooLarge } from './file-record.ts';
import type { SourceStop } from './source-stop.ts';

export interface Line {
  /** Without its end. */
  readonly bytes: Uint8Array;
  /** From 1 on. */
  readonly number: number;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** Of a line that is too long, so much is read on to tell its length. */
const COUNTED_BYTES_MAX = 256 * 1024 * 1024;

export interface LineReading {
  /** For messages. */
  readonly file: string;
  /** A longer line is an error that names its length; no more of it than that is held. */
  readonly bytesMax: number;
  /** Lines before it are passed over, however long. */
  readonly fromNumber: number;
  /** Where the source is stopped, its last line is cut off, and does not come. */
  readonly stop: SourceStop;
}

/** The lines of `chunks`, the last one also without an end. */
export async function* linesOf(chunks: Chunks, reading: LineReading): AsyncGenerator<Line> {
  const { file, bytesMax, fromNumber, stop } = reading;
  let number = 1;
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      const last = chunk.subarray(from, end);
      length += last.length;
      // One byte more: it may be the CR of the line's end.
      if (number >= fromNumber) {
        if (length > bytesMax + 1) throw tooLong(file, number, length);
        yield { bytes: withoutReturn(joined(parts, last)), number };
      }
      number++;
      parts = [];
      length = 0;
      from = end + 1;
    }
    if (from === chunk.length) continue;
    length += chunk.length - from;
    if (length <= bytesMax + 1) parts.push(chunk.subarray(from));
    else if (length > COUNTED_BYTES_MAX && number >= fromNumber) {
      throw tooLong(file, number, length, true);
    } else parts = [];
  }
  refuseTooShort(file, 'line', length === 0 ? number - 1 : number, fromNumber);
  if (length === 0 || number < fromNumber || stop.isStopped) return;
  if (length > bytesMax + 1) throw tooLong(file, number, length);
  yield { bytes: withoutReturn(joined(parts, new Uint8Array(0))), number };
}

function tooLong(file: string, number: number, length: number, orMore = false): Error {
  const bytes = `${orMore ? 'more than ' : ''}${length.toLocaleString('en-US')}`;
  return tooLarge(`${file}, line ${number}`, bytes, number);
}

function joined(parts: readonly Uint8Array[], last: Uint8Array): Uint8Array {
  return parts.length === 0 ? last : Buffer.concat([...parts, last]);
}

function withoutReturn(line: Uint8Array): Uint8Array {
  return line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line;
}
