import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { FileRecord } from '../../../../cli/records/file-record.ts';
import { type RecordReading, recordsOf } from '../../../../cli/records/record-file.ts';
import { SourceStop } from '../../../../cli/records/source-stop.ts';

let folder: string;

/** A folder of its own for the files of `read`. */
export function useFolder(): void {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tidemark-records-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
}

export interface Read {
  readonly records: FileRecord[];
  /** Their data as text. */
  readonly texts: string[];
  readonly told: string[];
  readonly path: string;
}

/** What a file with this content gives. */
export async function read(
  name: string,
  content: string | Uint8Array,
  options: Partial<RecordReading> = {},
): Promise<Read> {
  const path = join(folder, name);
  writeFileSync(path, content);
  return readFrom(path, options);
}

export async function readFrom(path: string, options: Partial<RecordReading> = {}): Promise<Read> {
  const told: string[] = [];
  const reading: RecordReading = {
    format: null,
    delimiter: null,
    types: new Map(),
    nullText: null,
    plan: null,
    fromNumber: 1,
    tell: (text) => told.push(text.replace(path, name(path))),
    stop: new SourceStop(),
    ...options,
  };
  const records: FileRecord[] = [];
  for await (const record of recordsOf(path, reading)) records.push(record);
  return { records, texts: records.map(({ data }) => Buffer.from(data).toString()), told, path };
}

function name(path: string): string {
  return path.split('/').at(-1) ?? '';
}

/** The message with which a file is refused, with its name alone. */
export async function refusalOf(
  fileName: string,
  content: string | Uint8Array,
  options: Partial<RecordReading> = {},
): Promise<string> {
  const error = await read(fileName, content, options).then(
    () => new Error('it was read'),
    (refused: Error) => refused,
  );
  return error.message.replaceAll(`${folder}/`, '');
}
