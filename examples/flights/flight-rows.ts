/**
 * The rows of the flights data set (3,000,000 US flights of 2001 in the order in which they left) from the npm package
 * `vega-datasets`.
 */
import { fileURLToPath } from 'node:url';
import { parquetColumns } from '../../cli/records/parquet-columns.ts';

export interface Flight {
  /** The row's number: what makes a resent row known. */
  readonly id: number;
  readonly date: number;
  readonly delay: number;
  readonly distance: number;
  readonly origin: string;
  readonly destination: string;
}

export const FLIGHT_COUNT = 3_000_000;

const DATA_SET = new URL('../data/flights-3m.parquet', import.meta.resolve('vega-datasets'));

const NAMES = ['date', 'delay', 'distance', 'origin', 'destination'] as const;
const CHUNK_ROWS = 2_000;

/** The first `rowsMax` flights, a chunk at a time. */
export async function* flights(rowsMax: number): AsyncGenerator<Flight[]> {
  let id = 0;
  for await (const columns of parquetColumns(fileURLToPath(DATA_SET))) {
    const [date, delay, distance, origin, destination] = NAMES.map((name) => columns[name] ?? []);
    const rowCount = date?.length ?? 0;
    for (let from = 0; from < rowCount && id < rowsMax; from += CHUNK_ROWS) {
      const to = Math.min(from + CHUNK_ROWS, rowCount, from + rowsMax - id);
      const chunk: Flight[] = [];
      for (let row = from; row < to; row++) {
        chunk.push({
          id: id++,
          date: Number(date?.[row]),
          delay: Number(delay?.[row]),
          distance: Number(distance?.[row]),
          origin: String(origin?.[row]),
          destination: String(destination?.[row]),
        });
      }
      yield chunk;
    }
    if (id >= rowsMax) return;
  }
}
