/**
 * One answer of a quarantine's listing, as it fills up: bounded by a number of records and by the bytes of their data.
 */
import { assert } from '../core/assert.ts';
import type { QuarantinedRecord } from '../core/ports.ts';

/** Of data, about: a page ends with the record that passes them. */
const BYTES_MAX = 4 * 1024 * 1024;

export class QuarantinePage {
  readonly records: QuarantinedRecord[] = [];
  readonly #limit: number;
  #byteLength = 0;

  constructor(limit: number) {
    assert(limit > 0, 'list-limit-is-positive');
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.records.length === this.#limit || this.#byteLength >= BYTES_MAX;
  }

  add(record: QuarantinedRecord): void {
    assert(!this.isFull, 'a-full-page-takes-nothing');
    this.records.push(record);
    this.#byteLength += record.data.length;
  }
}
