/**
 * One record of a file as a producer would put it, and where in the file it is.
 */
import { RECORD_BYTES_MAX } from '../../core/limits.ts';
import { countText } from '../count-text.ts';

/**
 * What a file counts: lines of text; rows of a Parquet file; elements of a JSON array, or the objects of JSON that is
 * spread over lines. `--from-line` takes the same number.
 */
export type PlaceUnit = 'line' | 'row' | 'element';

export interface FileRecord {
  /** The bytes of the record's data: of JSON exactly those of the file. */
  readonly data: Uint8Array;
  readonly unit: PlaceUnit;
  /** From 1 on. A CSV row of several lines is at its first. */
  readonly number: number;
}

/** What cannot be read as it is given. The message names the file, the place, and what to do. */
export class RecordFileError extends Error {
  /** The number of the record at fault, where there is one. */
  readonly number: number | null;

  constructor(message: string, number: number | null = null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RecordFileError';
    this.number = number;
  }
}

/** A record that Kinesis does not take; `where` has the file and the place. */
export function tooLarge(where: string, bytes: string, number: number): RecordFileError {
  const limit = RECORD_BYTES_MAX.toLocaleString('en-US');
  return new RecordFileError(
    `${where} has ${bytes} bytes, and Kinesis takes records of ${limit} bytes at most, data and partition key together`,
    number,
  );
}

/** A file that ends right before `fromNumber` is complete; one that ends earlier is not the file that was meant. */
export function refuseTooShort(
  file: string,
  unit: PlaceUnit,
  count: number,
  fromNumber: number,
): void {
  if (fromNumber <= count + 1) return;
  throw new RecordFileError(
    `${file} has ${countText(count, unit)}, so it cannot be read from ${unit} ${fromNumber} on: look at --from-line, and whether this is the file that was meant`,
  );
}
