/**
 * An entry as changes and parts have it, on its way into a table.
 */
import type { ByteReader } from '../bytes.ts';
import type { ColumnLayout } from './laid-column.ts';
import type { ViewTable } from './view-table.ts';

/**
 * Puts an entry as it is stored, `reader` being at its accumulators with their length: a new one, or over what was there. The
 * ordinal of its key.
 */
export function putOpen(
  table: ViewTable,
  windowStartMs: number,
  key: Uint8Array,
  reader: ByteReader,
  layout: ColumnLayout | null,
): number {
  const ordinal = table.place(windowStartMs, key);
  const slot = table.window(windowStartMs).slotAt(ordinal);
  readOpen(table, slot, reader, layout);
  return ordinal;
}

/** Replaces a slot by accumulators as they are stored, with their length. */
export function readOpen(
  table: ViewTable,
  slot: number,
  reader: ByteReader,
  layout: ColumnLayout | null,
): void {
  if (layout !== null) {
    table.decodeAs(slot, reader.bytes(), layout);
    return;
  }
  const end = reader.beginSized();
  table.read(slot, reader);
  reader.endSized(end);
}
