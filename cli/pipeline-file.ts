/**
 * From the path of a pipeline file to its plan, or to an error that says what is wrong with the file and where.
 */
import { realpathSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect, stripVTControlCharacters } from 'node:util';
import { isJsonObject } from '../core/decode/field-lookup.ts';
import { parsePlan } from '../core/definition/parse-plan.ts';
import type { Plan } from '../core/definition/plan.ts';
import { formatProblems, type Problem } from '../core/definition/problem.ts';
import { importedFiles, importFresh, syntaxErrorIn } from './module-hooks.ts';

/** A pipeline file that cannot be used. The message is for a person: many lines, and the file's name in the first. */
export class PipelineFileError extends Error {
  /** What is wrong with the pipeline; empty where there was none to judge. */
  readonly problems: readonly Problem[];

  constructor(message: string, options: { problems?: readonly Problem[]; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'PipelineFileError';
    this.problems = options.problems ?? [];
  }
}

const SCRIPT_EXTENSIONS = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs'];

/**
 * The plan of a file: `.json`, or TypeScript or JavaScript whose default export is the pipeline or a promise of it. Reads
 * it again at each call. Rejects with `PipelineFileError`.
 */
export async function loadPipelineFile(path: string): Promise<Plan> {
  const absolute = resolve(path);
  const extension = extname(absolute);
  await checkReadable(path, absolute);
  let json: unknown;
  if (extension === '.json') json = await readJson(path, absolute);
  else if (SCRIPT_EXTENSIONS.includes(extension)) json = await importDefault(path, absolute);
  else {
    const kinds = ['.json', ...SCRIPT_EXTENSIONS].join(', ');
    throw new PipelineFileError(`${path} is not a pipeline file: its name must end in ${kinds}`);
  }
  const parsed = parsePlan(json);
  if (parsed.ok) return parsed.plan;
  const { problems } = parsed;
  throw new PipelineFileError(formatProblems(path, problems), { problems });
}

/** The file, and those that it imported by a relative path when it was loaded last. */
export function filesOfPipeline(path: string): string[] {
  const absolute = resolve(path);
  return [...new Set([absolute, ...importedFiles()])];
}

async function checkReadable(path: string, absolute: string): Promise<void> {
  try {
    if ((await stat(absolute)).isFile()) return;
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    const message = isMissing
      ? `there is no pipeline file ${path} (looked for ${absolute})`
      : `the pipeline file ${path} cannot be read: ${messageOf(cause)}`;
    throw new PipelineFileError(message, { cause });
  }
  throw new PipelineFileError(
    `${path} is not a file; --pipeline takes the path of a pipeline file`,
  );
}

async function readJson(path: string, absolute: string): Promise<unknown> {
  const text = (await readFile(absolute, 'utf8')).replace(/^\uFEFF/, '');
  try {
    return withoutReport(JSON.parse(text));
  } catch (cause) {
    throw new PipelineFileError(`${path} is not JSON: ${messageOf(cause)}`, { cause });
  }
}

/** Of what `check --json` prints, the pipeline: its plan's hash, and what was tried and compared, are no part of it. */
function withoutReport(json: unknown): unknown {
  if (!isJsonObject(json) || typeof json['hash'] !== 'string') return json;
  const { hash: _hash, records: _records, change: _change, ...pipeline } = json;
  return pipeline;
}

/** A file that ends the process, or never finishes loading, must not look like one that was sound. */
async function whileLoading<T>(path: string, loading: Promise<T>): Promise<T> {
  const onExit = () => {
    console.error(`error: ${path} ended the process, or never finished, while it was loaded`);
    process.exitCode = 1;
  };
  process.once('exit', onExit);
  try {
    return await loading;
  } finally {
    process.off('exit', onExit);
  }
}

async function importDefault(path: string, absolute: string): Promise<unknown> {
  let exported: Readonly<Record<string, unknown>>;
  let value: unknown;
  try {
    exported = await whileLoading(path, importFresh(absolute));
    value = await exported['default'];
  } catch (cause) {
    const message = `${path} could not be loaded:\n\n${loadingError(cause, absolute)}`;
    throw new PipelineFileError(message, { cause });
  }
  const pipeline = isCompiledModule(value) ? value['default'] : value;
  if (pipeline === undefined) {
    const names = Object.keys(exported).filter((name) => name !== 'default');
    const found = names.length === 0 ? 'it exports nothing' : `it exports ${names.join(', ')}`;
    const expected = 'expected the pipeline as its default export: export default pipeline({ … })';
    throw new PipelineFileError(`${path} has no default export (${found}); ${expected}`);
  }
  return pipeline;
}

/** True for what compilers make of `export default` where they write CommonJS. */
function isCompiledModule(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, '__esModule');
}

/** The error with the place in the author's files, without the frames of Node and of this program. */
function loadingError(thrown: unknown, absolute: string): string {
  const cause = thrown instanceof SyntaxError ? (syntaxErrorIn(absolute) ?? thrown) : thrown;
  if (!(cause instanceof Error)) return `  it threw ${inspect(cause, { depth: 0 })}`;
  const folders = [dirname(absolute), realFolderOf(absolute)];
  const own = folders.flatMap((folder) => [folder, pathToFileURL(folder).href]);
  return stripVTControlCharacters(cause.stack ?? cause.message)
    .replace(/\?tidemark-load=\d+/g, '')
    .replace(/ \[ERR_\w+_TYPESCRIPT_SYNTAX\]/, '')
    .split('\n')
    .filter((line) => !/^ +at /.test(line) || own.some((folder) => line.includes(folder)))
    .map((line) => `  ${line}`.trimEnd())
    .join('\n');
}

/** Where the file lies that a link leads to. */
function realFolderOf(path: string): string {
  try {
    return dirname(realpathSync(path));
  } catch {
    return dirname(path);
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
