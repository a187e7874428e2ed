/**
 * The text of a CSV file in blocks of whole lines: first its header, then what follows, each with the number of its first line.
 */
import type { Chunks } from './byte-source.ts';
import { RecordFileError } from './file-record.ts';
import type { SourceStop } from './source-stop.ts';

/** Characters of one row; a quote that is never closed would otherwise take the rest of the file into memory. */
export const ROW_LENGTH_MAX = 2 * 1024 * 1024;
/** More has more characters than a row may, whatever they are: the parser says what is wrong with such a header. */
const HEADER_BYTES_MAX = 4 * ROW_LENGTH_MAX;
export const LINE_FEED = 0x0a;
const QUOTE = 0x22;
const MARK = Buffer.from('\uFEFF');

export interface TextBlock {
  /** Whole lines; the last of the file may have no line feed. */
  readonly bytes: Buffer;
  /** The number of the first. */
  readonly line: number;
  /** What the file itself says in a line before its header. */
  readonly delimiter: string | null;
}

/** Without the mark at the start and the line that states the delimiter; the first block is the header. */
export async function* textBlocks(
  chunks: Chunks,
  file: string,
  stop: SourceStop,
): AsyncGenerator<TextBlock> {
  let line = 1;
  let held: Buffer[] | null = [];
  let heldBytes = 0;
  let isOpen = false;
  for await (const lines of wholeLines(chunks, file, stop)) {
    if (held === null) {
      yield { bytes: lines, line, delimiter: null };
      line += countOf(LINE_FEED, lines);
      continue;
    }
    held.push(lines);
    heldBytes += lines.length;
    // Only a quote can close what is open.
    const isStillOpen = isOpen && !lines.includes(QUOTE);
    if (isStillOpen && heldBytes <= HEADER_BYTES_MAX) continue;
    const bytes = Buffer.concat(held);
    const head = headOf(bytes);
    isOpen = !head.isWhole && head.header.length > 0;
    if (!head.isWhole && heldBytes <= HEADER_BYTES_MAX) continue;
    yield* headBlocks(head);
    line += countOf(LINE_FEED, bytes);
    held = null;
  }
  if (held === null || heldBytes === 0 || stop.isStopped) return;
  yield* headBlocks(headOf(Buffer.concat(held)));
}

interface Head {
  readonly line: number;
  readonly delimiter: string | null;
  readonly header: Buffer;
  /** Its end is there: what was read so far may stop inside it, also at the end of a line. */
  readonly isWhole: boolean;
  readonly rest: Buffer;
}

/** Excel's own line, such as `sep=;`. */
const STATED_DELIMITER = /^"?sep=([^"\r\n])"?\r?(?:\n|$)/iu;
const STATED_BYTES_MAX = 16;

function headOf(bytes: Buffer): Head {
  const isMarked = bytes.subarray(0, MARK.length).equals(MARK);
  const text = isMarked ? bytes.subarray(MARK.length) : bytes;
  const start = text.subarray(0, STATED_BYTES_MAX).toString('utf8');
  const [stating = '', delimiter = null] = STATED_DELIMITER.exec(start) ?? [];
  const rows = text.subarray(Buffer.byteLength(stating));
  const found = endOfHeader(rows);
  const end = found ?? rows.length;
  const line = stating === '' ? 1 : 2;
  const [header, rest] = [rows.subarray(0, end), rows.subarray(end)];
  return { line, delimiter, header, isWhole: found !== null, rest };
}

function* headBlocks({ line, delimiter, header, rest }: Head): Generator<TextBlock> {
  if (header.length > 0) yield { bytes: header, line, delimiter };
  const restLine = line + countOf(LINE_FEED, header);
  if (rest.length > 0) yield { bytes: rest, line: restLine, delimiter: null };
}

async function* wholeLines(chunks: Chunks, file: string, stop: SourceStop): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  let lines = 0;
  for await (const chunk of chunks) {
    held = held.length === 0 ? Buffer.from(chunk) : Buffer.concat([held, chunk]);
    const end = held.lastIndexOf(LINE_FEED) + 1;
    if (end === 0 && held.length > ROW_LENGTH_MAX) throw tooLongLine(held, file, lines + 1);
    const block = held.subarray(0, end);
    lines += countOf(LINE_FEED, block);
    if (end > 0) yield block;
    held = held.subarray(end);
  }
  if (held.length > 0 && !stop.isStopped) yield held;
}

/** After the line that ends the first row: quotes are in pairs there. Null if no line does. */
function endOfHeader(block: Buffer): number | null {
  let isQuoted = false;
  for (const [index, byte] of block.entries()) {
    if (byte === QUOTE) isQuoted = !isQuoted;
    else if (byte === LINE_FEED && !isQuoted) return index + 1;
  }
  return null;
}

export function countOf(wanted: number, block: Buffer): number {
  let count = 0;
  for (let at = block.indexOf(wanted); at >= 0; at = block.indexOf(wanted, at + 1)) count++;
  return count;
}

function tooLongLine(held: Buffer, file: string, line: number): RecordFileError {
  const isOldMac = held.includes('\r');
  const what = isOldMac
    ? "it has CRs and no line feeds: tr '\\r' '\\n' makes lines of it"
    : `it has more than ${ROW_LENGTH_MAX.toLocaleString('en-US')} bytes`;
  return new RecordFileError(`${file}, line ${line}: ${what}`, line);
}
