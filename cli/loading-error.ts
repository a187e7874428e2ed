/**
 * What a pipeline file threw while it was loaded, with the place in its author's files: without the frames of Node, and
 * without those of this program, also where it is installed in the folder of the file.
 */
import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect, stripVTControlCharacters } from 'node:util';

// Sources and the built package have the same folders.
const PROGRAM_FOLDERS = ['./', '../core/'].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
);

/** `absolute` is the file's path. Lines for a person, each indented. */
export function loadingError(
  thrown: unknown,
  absolute: string,
  programFolders: readonly string[] = PROGRAM_FOLDERS,
): string {
  if (!(thrown instanceof Error)) return `  it threw ${inspect(thrown, { depth: 0 })}`;
  const own = withUrls([dirname(absolute), realFolderOf(absolute)]);
  const program = withUrls(programFolders);
  const isOf = (folders: readonly string[], line: string) =>
    folders.some((folder) => line.includes(folder));
  return stripVTControlCharacters(thrown.stack ?? thrown.message)
    .replace(/ \[ERR_\w+_TYPESCRIPT_SYNTAX\]/, '')
    .split('\n')
    .filter((line) => !/^ +at /.test(line) || (isOf(own, line) && !isOf(program, line)))
    .map((line) => `  ${line}`.trimEnd())
    .join('\n');
}

/** Frames name a file by its path or its address. */
function withUrls(folders: readonly string[]): string[] {
  return folders.flatMap((folder) => [folder, pathToFileURL(folder).href]);
}

/** Where the file lies that a link leads to. */
function realFolderOf(path: string): string {
  try {
    return dirname(realpathSync(path));
  } catch {
    return dirname(path);
  }
}
