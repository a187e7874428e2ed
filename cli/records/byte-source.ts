/**
 * The bytes of a file or of stdin, unpacked. What the bytes are is told by the bytes, whatever the file's name: gzip and zstd
 * are unpacked, UTF-16 and other packings are refused by name with the command that helps.
 */
import { constants, createReadStream, open, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { pipeline, Readable, type Transform } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { type ByteFormat, byteFormatOf } from '../../core/decode/byte-signature.ts';
import { shellPath } from '../shell-word.ts';
import { RecordFileError } from './file-record.ts';
import type { SourceStop } from './source-stop.ts';

export type Chunks = AsyncIterable<Uint8Array>;

export interface ByteSource {
  /** The first bytes, which `chunks` has too; empty if there are none at all. */
  readonly head: Uint8Array;
  readonly chunks: AsyncGenerator<Uint8Array>;
  readonly isParquet: boolean;
  /** It was unpacked here. */
  readonly isPacked: boolean;
  /** Each reading gives the same bytes; what comes from a pipe, a FIFO or a device can be read once. */
  readonly isRepeatable: boolean;
  /** For one whose `chunks` are not read. */
  readonly close: () => void;
}

/** `name` is for messages and commands in them; `-` is stdin. Rejects with `RecordFileError`. */
export async function openBytes(name: string, stop: SourceStop): Promise<ByteSource> {
  // What cannot be looked at fails when it is opened, and that error says why.
  const stats = name === '-' ? null : await stat(name).catch(() => null);
  const input = await inputOf(name, stats);
  const close = () => void input.destroy();
  const isRepeatable = stats?.isFile() ?? false;
  const chunks = stop.chunksOf(named(name, input), { isLive: !isRepeatable });
  try {
    return { ...(await sourceOf(name, closing(chunks, close), false)), isRepeatable, close };
  } catch (error) {
    close();
    throw error;
  }
}

const STDIN_NAMES = ['-', '/dev/stdin', '/dev/fd/0', '/proc/self/fd/0'];

async function inputOf(name: string, stats: Stats | null): Promise<Readable> {
  // By offset: a name of stdin may share its place with an earlier reader of the same file.
  if (stats?.isFile()) return createReadStream(name, { start: 0 });
  // Stdin can be a socket, which cannot be opened by a name.
  if (STDIN_NAMES.includes(name)) return process.stdin;
  return stats?.isFIFO() ? await openPipe(name) : createReadStream(name);
}

/** Not by `createReadStream`: a read that waits in a thread would keep the process from its end. */
async function openPipe(name: string): Promise<Readable> {
  const { O_NONBLOCK, O_RDONLY } = constants;
  // Elsewhere a FIFO that has no writer yet would be at its end.
  const flags = process.platform === 'linux' ? O_RDONLY | O_NONBLOCK : O_RDONLY;
  // The socket owns the descriptor; a `FileHandle` would close it when it is collected.
  const fd = await promisify(open)(name, flags);
  return new Socket({ fd, readable: true, writable: false });
}

/** A read that is under way ends with `close`, also where nothing more comes. */
async function* closing(chunks: Chunks, close: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } finally {
    close();
  }
}

type UnpackedSource = Omit<ByteSource, 'isRepeatable' | 'close'>;

async function sourceOf(name: string, input: Chunks, isPacked: boolean): Promise<UnpackedSource> {
  const { head, chunks } = await peek(input);
  const format = byteFormatOf(head);
  const unpack = format === null ? undefined : UNPACKING[format];
  if (unpack !== undefined && !isPacked) {
    const unpacked = unpackedChunks(name, chunks, unpack(), format as ByteFormat);
    return sourceOf(name, unpacked, true);
  }
  if (format !== null && format !== 'parquet') throw refusal(name, format, isPacked);
  return { head, chunks, isParquet: format === 'parquet', isPacked };
}

/** Enough to tell what it is, and no more than comes at once: on stdin the next byte may be long in coming. */
async function peek(input: Chunks): Promise<Pick<ByteSource, 'head' | 'chunks'>> {
  const iterator = input[Symbol.asyncIterator]();
  let head: Uint8Array = new Uint8Array(0);
  while (head.length < HEAD_BYTES_MIN && !head.includes(LINE_FEED)) {
    const next = await iterator.next();
    if (next.done) break;
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
  }
  const first = head;
  async function* chunks() {
    try {
      if (first.length > 0) yield first;
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
        yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  }
  return { head, chunks: chunks() };
}

const HEAD_BYTES_MIN = 16;
const LINE_FEED = 0x0a;

const UNPACKING: Partial<Record<ByteFormat, () => Transform & { readonly bytesWritten: number }>> =
  { gzip: createGunzip, zstd: createZstdDecompress };

/** What follows the packed data is never dropped in silence, as zlib does; zeros are padding. */
async function* unpackedChunks(
  name: string,
  chunks: Chunks,
  unpacking: Transform & { readonly bytesWritten: number },
  format: ByteFormat,
): AsyncGenerator<Uint8Array> {
  let byteLength = 0;
  let tail: Uint8Array = new Uint8Array(0);
  async function* counted() {
    for await (const chunk of chunks) {
      byteLength += chunk.length;
      tail = chunk;
      yield chunk;
    }
  }
  pipeline(Readable.from(counted()), unpacking, () => {});
  try {
    for await (const chunk of unpacking) yield chunk as Uint8Array;
  } catch (cause) {
    if (cause instanceof RecordFileError) throw cause;
    const said = cause instanceof Error ? cause.message : String(cause);
    throw new RecordFileError(
      `${shown(name)} cannot be unpacked to its end: its ${format} data is cut off or damaged (${said})`,
      null,
      cause,
    );
  }
  const left = byteLength - unpacking.bytesWritten;
  if (left > 0 && tail.subarray(-left).some((byte) => byte !== 0)) {
    throw new RecordFileError(
      `${shown(name)} has ${left} bytes after its ${format} data, which nothing reads: it is damaged, or two files in one`,
    );
  }
}

async function* named(name: string, input: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of input) yield chunk as Uint8Array;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const said =
      code === 'ENOENT' ? `there is no file ${name}` : `${name} cannot be read: ${message}`;
    throw new RecordFileError(said, null, cause);
  }
}

/** `name` as messages show it. */
export function shown(name: string): string {
  return name === '-' ? 'stdin' : name;
}

/** Also of a packed one. Stdin has no name that would say it. */
const CSV_NAME = /\.(csv|tsv|tab)(\.\w+)?$/i;

function refusal(name: string, format: ByteFormat, isPacked: boolean): RecordFileError {
  const file = shown(name);
  if (isPacked)
    return new RecordFileError(`${file} is packed twice: what is inside it is ${format} again`);
  const path = name === '-' ? 'FILE' : shellPath(name);
  const put = CSV_NAME.test(name) ? 'put - --format csv' : 'put -';
  if (format === 'utf-16le' || format === 'utf-16be' || format === 'utf-32') {
    const encoding = format.toUpperCase();
    return new RecordFileError(
      `${file} is ${encoding}, and records are UTF-8: iconv -f ${encoding} -t UTF-8 ${path} | npx tidemark ${put} …`,
    );
  }
  const command = COMMANDS[format];
  if (command !== undefined) {
    return new RecordFileError(
      `${file} is packed with ${format}: ${command} ${path} | npx tidemark ${put} …`,
    );
  }
  return new RecordFileError(`${file} ${WHAT[format] ?? `is ${format}, which put does not read`}`);
}

const COMMANDS: Partial<Record<ByteFormat, string>> = {
  bzip2: 'bzip2 -dc',
  xz: 'xz -dc',
  lz4: 'lz4 -dc',
};

const WHAT: Partial<Record<ByteFormat, string>> = {
  zip: 'is a zip archive (or an xlsx workbook): unpack it, or save the sheet as CSV, and put what is inside',
  'avro-file': 'is an Avro file: convert it to JSON lines or Parquet',
  kpl: 'is an aggregate of the Kinesis Producer Library: put its records as JSON lines',
  snappy: 'is packed with Snappy: unpack it, and put what is inside',
};
