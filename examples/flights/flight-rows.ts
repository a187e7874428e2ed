/**
 * The rows of the flights data set (3,000,000 US flights of 2001 in the order in which they left) from the npm package
 * `vega-datasets`.
 */
import { fileURLToPath } from 'node:url';
import { parquetRows } from '../../cli/record-file.ts';

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

/** The first `rowsMax` flights, in arrays of some thousands. */
export async function* flights(rowsMax: number): AsyncGenerator<Flight[]> {
  let id = 0;
  for await (const rows of parquetRows(fileURLToPath(DATA_SET))) {
    const wanted = rows.slice(0, rowsMax - id);
    yield wanted.map((row) => ({
      id: id++,
      date: (row['date'] as Date).getTime(),
      delay: Number(row['delay']),
      distance: Number(row['distance']),
      origin: String(row['origin']),
      destination: String(row['destination']),
    }));
    if (id >= rowsMax) return;
  }
}
