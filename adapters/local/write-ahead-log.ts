/**
 * What a write-ahead log of SQLite holds, read as SQLite recovers it (https://sqlite.org/fileformat2.html#walformat): frames
 * follow each other for as long as their salts are the log's and the running checksum is right, and they count up to the last
 * one that ends a commit. Behind it may be a part of a commit that never completed, or of logs before this one.
 */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';

const MAGIC = 0x37_7f_06_82;
/** Set in the last bit of the magic number if checksums are of big-endian words. */
const BIG_ENDIAN = 1;
const FORMAT_VERSION = 3_007_000;
const HEADER = { version: 4, pageBytes: 8, salts: 16, checksum: 24, bytes: 32 };
/** `pagesAfter`: how many pages the file has after the commit that this frame ends; 0 if it ends none. */
const FRAME = { page: 0, pagesAfter: 4, salts: 8, checksum: 16, bytes: 24 };

/**
 * What `parse` makes of the content that each commit gave the page, oldest first. None if there is no log, SQLite would not
 * use it, or it began anew while it was read.
 */
export function versionsInLog<T>(
  path: string,
  page: number,
  parse: (content: Buffer) => T,
): readonly T[] {
  if (!existsSync(path)) return [];
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(HEADER.bytes);
    if (!readWhole(file, header, 0)) return [];
    const log = logOf(header);
    if (log === null) return [];
    const versions = committed(file, log, page, parse);
    const again = Buffer.alloc(HEADER.bytes);
    return readWhole(file, again, 0) && again.equals(header) ? versions : [];
  } finally {
    closeSync(file);
  }
}

interface Log {
  readonly pageBytes: number;
  readonly salts: Buffer;
  /** Of the header; each frame's goes on from it. */
  readonly checksum: Checksum;
}

function logOf(header: Buffer): Log | null {
  const magic = header.readUInt32BE(0);
  if ((magic & ~BIG_ENDIAN) !== MAGIC) return null;
  if (header.readUInt32BE(HEADER.version) !== FORMAT_VERSION) return null;
  const checksum = new Checksum((magic & BIG_ENDIAN) === 0);
  checksum.add(header, 0, HEADER.checksum);
  if (!checksum.isAt(header, HEADER.checksum)) return null;
  const salts = header.subarray(HEADER.salts, HEADER.checksum);
  return { pageBytes: header.readUInt32BE(HEADER.pageBytes), salts, checksum };
}

function committed<T>(file: number, log: Log, page: number, parse: (content: Buffer) => T): T[] {
  const { pageBytes, salts, checksum } = log;
  const frame = Buffer.alloc(FRAME.bytes + pageBytes);
  const content = frame.subarray(FRAME.bytes);
  const versions: T[] = [];
  /** Of a commit that may not complete. */
  let next: { version: T } | null = null;
  for (let at = HEADER.bytes; readWhole(file, frame, at); at += frame.length) {
    if (!frame.subarray(FRAME.salts, FRAME.checksum).equals(salts)) break;
    checksum.add(frame, 0, FRAME.salts);
    checksum.add(frame, FRAME.bytes, frame.length);
    if (!checksum.isAt(frame, FRAME.checksum)) break;
    if (frame.readUInt32BE(FRAME.page) === page) next = { version: parse(content) };
    if (frame.readUInt32BE(FRAME.pagesAfter) === 0 || next === null) continue;
    versions.push(next.version);
    next = null;
  }
  return versions;
}

/** Two sums, over words that are taken in pairs. */
class Checksum {
  readonly #isLittleEndian: boolean;
  #first = 0;
  #second = 0;

  constructor(isLittleEndian: boolean) {
    this.#isLittleEndian = isLittleEndian;
  }

  add(bytes: Buffer, from: number, to: number): void {
    const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const isLittleEndian = this.#isLittleEndian;
    let [first, second] = [this.#first, this.#second];
    for (let at = from; at < to; at += 8) {
      first = (first + words.getInt32(at, isLittleEndian) + second) | 0;
      second = (second + words.getInt32(at + 4, isLittleEndian) + first) | 0;
    }
    this.#first = first;
    this.#second = second;
  }

  /** True if it is what `bytes` hold there, which is big-endian in any case. */
  isAt(bytes: Buffer, at: number): boolean {
    return bytes.readInt32BE(at) === this.#first && bytes.readInt32BE(at + 4) === this.#second;
  }
}

function readWhole(file: number, into: Buffer, at: number): boolean {
  return readSync(file, into, 0, into.length, at) === into.length;
}
