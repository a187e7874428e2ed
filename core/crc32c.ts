/**
 * CRC-32C (Castagnoli), four bytes at a time: the checksum of every stored object.
 */
const POLYNOMIAL = 0x82f63b78;
const TABLES = makeTables();

/** The checksum of `bytes` as an unsigned 32-bit number; `previous` continues that of the bytes before. */
export function crc32c(bytes: Uint8Array, previous = 0): number {
  const [t0, t1, t2, t3] = TABLES;
  let crc = ~previous;
  let index = 0;
  for (const end = bytes.length - 3; index < end; index += 4) {
    crc ^=
      (bytes[index] as number) |
      ((bytes[index + 1] as number) << 8) |
      ((bytes[index + 2] as number) << 16) |
      ((bytes[index + 3] as number) << 24);
    crc =
      (t3[crc & 0xff] as number) ^
      (t2[(crc >>> 8) & 0xff] as number) ^
      (t1[(crc >>> 16) & 0xff] as number) ^
      (t0[crc >>> 24] as number);
  }
  for (; index < bytes.length; index++) {
    crc = (t0[(crc ^ (bytes[index] as number)) & 0xff] as number) ^ (crc >>> 8);
  }
  return ~crc >>> 0;
}

function makeTables(): [Int32Array, Int32Array, Int32Array, Int32Array] {
  const tables = [0, 1, 2, 3].map(() => new Int32Array(256)) as [
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
  ];
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    tables[0][byte] = crc;
  }
  for (let byte = 0; byte < 256; byte++) {
    for (let table = 1; table < 4; table++) {
      const before = (tables[table - 1] as Int32Array)[byte] as number;
      (tables[table] as Int32Array)[byte] = (tables[0][before & 0xff] as number) ^ (before >>> 8);
    }
  }
  return tables;
}
