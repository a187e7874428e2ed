/**
 * Formats that are told by their first bytes.
 */

export type ByteFormat =
  | 'gzip'
  | 'zstd'
  | 'bzip2'
  | 'xz'
  | 'lz4'
  | 'zip'
  | 'snappy'
  | 'parquet'
  | 'avro-file'
  | 'kpl'
  | 'utf-16le'
  | 'utf-16be'
  | 'utf-32';

const ANY = -1;

const SIGNATURES: readonly (readonly [ByteFormat, readonly number[]])[] = [
  ['gzip', [0x1f, 0x8b]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  // Then the level, as a digit, and the digits of pi.
  ['bzip2', [0x42, 0x5a, 0x68, ANY, 0x31, 0x41, 0x59, 0x26]],
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]],
  ['lz4', [0x04, 0x22, 0x4d, 0x18]],
  ['zip', [0x50, 0x4b, 0x03, 0x04]],
  ['snappy', [0xff, 0x06, 0x00, 0x00, 0x73, 0x4e, 0x61, 0x50, 0x70, 0x59]],
  ['parquet', [0x50, 0x41, 0x52, 0x31]],
  ['avro-file', [0x4f, 0x62, 0x6a, 0x01]],
  ['kpl', [0xf3, 0x89, 0x9a, 0xc2]],
  // Before UTF-16: its mark begins with that of UTF-16.
  ['utf-32', [0xff, 0xfe, 0x00, 0x00]],
  ['utf-32', [0x00, 0x00, 0xfe, 0xff]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/** Bytes that `byteFormatOf` wants to see. */
export const SIGNATURE_BYTES = 64;

/** The format that the first bytes tell of, or null for text in UTF-8 and all that has no such sign. */
export function byteFormatOf(bytes: Uint8Array): ByteFormat | null {
  for (const [format, signature] of SIGNATURES) {
    if (signature.every((byte, index) => byte === ANY || bytes[index] === byte)) return format;
  }
  return unmarkedUtf16(bytes.subarray(0, SIGNATURE_BYTES));
}

/** Without a mark, UTF-16 of Latin text is told by its zeros: every second byte. */
function unmarkedUtf16(bytes: Uint8Array): ByteFormat | null {
  const pairs = Math.floor(bytes.length / 2);
  if (pairs < 2) return null;
  let zerosFirst = 0;
  let zerosSecond = 0;
  for (let index = 0; index < pairs; index++) {
    if (bytes[2 * index] === 0) zerosFirst++;
    if (bytes[2 * index + 1] === 0) zerosSecond++;
  }
  if (zerosFirst === 0 && zerosSecond * 4 >= pairs * 3) return 'utf-16le';
  if (zerosSecond === 0 && zerosFirst * 4 >= pairs * 3) return 'utf-16be';
  return null;
}
