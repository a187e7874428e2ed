/**
 * CRC-32C (Castagnoli), sixteen bytes at a time: the checksum of every stored object.
 */
const POLYNOMIAL = 0x82f63b78;
/** Bytes that one step takes. */
const STEP = 16;
/** By 256 × how many bytes of the step follow + the byte. */
const TABLE = makeTable();

/** The checksum of `bytes` as an unsigned 32-bit number; `previous` continues that of the bytes before. */
export function crc32c(bytes: Uint8Array, previous = 0): number {
  const table = TABLE;
  let crc = ~previous;
  let index = 0;
  for (const end = bytes.length - STEP; index <= end; index += STEP) {
    const first =
      crc ^
      ((bytes[index] as number) |
        ((bytes[index + 1] as number) << 8) |
        ((bytes[index + 2] as number) << 16) |
        ((bytes[index + 3] as number) << 24));
    // Written out: a loop takes twice as long.
    crc =
      (table[3840 | (first & 0xff)] as number) ^
      (table[3584 | ((first >>> 8) & 0xff)] as number) ^
      (table[3328 | ((first >>> 16) & 0xff)] as number) ^
      (table[3072 | (first >>> 24)] as number) ^
      (table[2816 | (bytes[index + 4] as number)] as number) ^
      (table[2560 | (bytes[index + 5] as number)] as number) ^
      (table[2304 | (bytes[index + 6] as number)] as number) ^
      (table[2048 | (bytes[index + 7] as number)] as number) ^
      (table[1792 | (bytes[index + 8] as number)] as number) ^
      (table[1536 | (bytes[index + 9] as number)] as number) ^
      (table[1280 | (bytes[index + 10] as number)] as number) ^
      (table[1024 | (bytes[index + 11] as number)] as number) ^
      (table[768 | (bytes[index + 12] as number)] as number) ^
      (table[512 | (bytes[index + 13] as number)] as number) ^
      (table[256 | (bytes[index + 14] as number)] as number) ^
      (table[bytes[index + 15] as number] as number);
  }
  for (; index < bytes.length; index++) {
    crc = (table[(crc ^ (bytes[index] as number)) & 0xff] as number) ^ (crc >>> 8);
  }
  return ~crc >>> 0;
}

function makeTable(): Int32Array {
  const table = new Int32Array(STEP * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    table[byte] = crc;
  }
  for (let at = 256; at < table.length; at++) {
    const before = table[at - 256] as number;
    table[at] = (table[before & 0xff] as number) ^ (before >>> 8);
  }
  return table;
}
