/**
 * Loading a pipeline written in TypeScript or JavaScript, wherever it lies: in a folder without package.json, in a
 * CommonJS package, beside no installed Tidemark.
 *
 * - `tidemark` is this program's own copy, so that a file needs nothing installed and never meets another version.
 * - A file that was asked for by `importPipeline`, and what it imports by a relative path, is read and judged here: types
 *   are stripped, and what is no CommonJS is a module, whatever the nearest package.json says.
 * - Hooks and modules last as long as the thread: each load takes a thread of its own, so that a file that changed, or a
 *   link that leads elsewhere, is read as it is now.
 */
import { readFileSync, realpathSync } from 'node:fs';
import {
  createRequire,
  type LoadHookContext,
  type ModuleFormat,
  registerHooks,
  stripTypeScriptTypes,
} from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { types } from 'node:util';
import { compileFunction } from 'node:vm';

const require = createRequire(import.meta.url);
const TYPESCRIPT = /\.[cm]?ts$/;
const SCRIPT = /\.[cm]?[jt]s$/;
const RELATIVE = /^\.\.?\//;

// Sources run as .ts and the built package as .js: the copy beside this file is of the same kind.
const isSource = import.meta.url.endsWith('.ts');
const packageUrl = new URL(`../core/definition/index.${isSource ? 'ts' : 'js'}`, import.meta.url)
  .href;

/** Addresses of the pipeline file, and of what it imports by a relative path. */
const own = new Set<string>();
let tellPath: (path: string) => void = () => {};

/**
 * Imports the module at an absolute path, once in a thread. `onRead` hears of each file that is read for it, itself among
 * them, of the links that lead there, and of where a file was not found, also where the load fails. Rejects with Node's
 * errors.
 */
export async function importPipeline(
  path: string,
  onRead: (path: string) => void,
): Promise<Readonly<Record<string, unknown>>> {
  tellPath = onRead;
  registerHooks({ resolve, load });
  const realPath = realpathSync(path);
  const { href } = pathToFileURL(realPath);
  own.add(href);
  if (formatOf(realPath, readSource(realPath)) !== 'commonjs') {
    return (await import(href)) as Record<string, unknown>;
  }
  // Imported, it would not see these hooks in its own `require` before Node 24.
  const exported: unknown = require(realPath);
  return types.isModuleNamespaceObject(exported)
    ? (exported as Record<string, unknown>)
    : { default: exported };
}

/**
 * The syntax error in a file with the line that it is in, which Node's own error for JavaScript leaves out; null if the
 * file parses.
 */
export function syntaxErrorIn(path: string): SyntaxError | null {
  try {
    stripTypes(readFileSync(path, 'utf8'), path);
    return null;
  } catch (error) {
    return error instanceof SyntaxError ? error : null;
  }
}

type Resolve = NonNullable<Parameters<typeof registerHooks>[0]['resolve']>;
type Load = NonNullable<Parameters<typeof registerHooks>[0]['load']>;

const resolve: Resolve = (specifier, context, nextResolve) => {
  if (specifier === 'tidemark') {
    const format: ModuleFormat = isSource ? 'module-typescript' : 'module';
    return { url: packageUrl, format, shortCircuit: true };
  }
  const { parentURL } = context;
  if (parentURL === undefined || !own.has(parentURL) || !RELATIVE.test(specifier)) {
    return nextResolve(specifier, context);
  }
  try {
    const resolved = nextResolve(specifier, context);
    own.add(resolved.url);
    tellLink(specifier, parentURL, resolved.url);
    return resolved;
  } catch (error) {
    tellMissing(specifier, parentURL, context.conditions.includes('require'));
    throw error;
  }
};

/** What `require` may leave out of a file's name. */
const ENDINGS = ['', '.js', '.json', '/index.js'];

/** Tells the path by which a file was asked for, if a link leads from there to another path. */
function tellLink(specifier: string, parentUrl: string, resolvedUrl: string): void {
  if (!resolvedUrl.startsWith('file:')) return;
  const realPath = fileURLToPath(resolvedUrl);
  for (const ending of ENDINGS) {
    try {
      const path = fileURLToPath(new URL(`${specifier}${ending}`, parentUrl));
      if (path !== realPath && realpathSync(path) === realPath) tellPath(path);
    } catch {
      // Not by this name.
    }
  }
}

/** Tells where a file was looked for and not found: it may come back, as in a switch of branches. */
function tellMissing(specifier: string, parentUrl: string, isRequire: boolean): void {
  for (const ending of isRequire ? ENDINGS : ['']) {
    try {
      tellPath(fileURLToPath(new URL(`${specifier}${ending}`, parentUrl)));
    } catch {
      // No name of a file.
    }
  }
}

const load: Load = (url, context, nextLoad) => {
  if (!own.has(url) || !url.startsWith('file:')) return nextLoad(url, context);
  const path = fileURLToPath(url);
  tellPath(path);
  if (!SCRIPT.test(path) || isRequired(context)) return nextLoad(url, context);
  const source = readSource(path);
  return { format: formatOf(path, source), source, shortCircuit: true };
};

function isRequired(context: LoadHookContext): boolean {
  return context.conditions.includes('require');
}

/** By what Node does for files of unknown kind: CommonJS is what compiles as such. */
function formatOf(path: string, source: string): NonNullable<LoadHookContext['format']> {
  if (/\.m[jt]s$/.test(path)) return 'module';
  if (/\.c[jt]s$/.test(path)) return 'commonjs';
  try {
    compileFunction(source, ['exports', 'require', 'module', '__filename', '__dirname']);
    return 'commonjs';
  } catch {
    // Not CommonJS, or not JavaScript at all: then the module loader says what is wrong and where.
    return 'module';
  }
}

/** The JavaScript of a file. Throws SyntaxError. */
function readSource(path: string): string {
  const text = readFileSync(path, 'utf8');
  return TYPESCRIPT.test(path) ? stripTypes(text, path) : text;
}

/** Types become spaces, so that lines and columns in errors stay true. Throws SyntaxError on what is not erasable. */
function stripTypes(source: string, path: string): string {
  const { emitWarning } = process;
  // Node says once that stripping is experimental, which the author of a pipeline can do nothing about.
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source, { sourceUrl: path });
  } finally {
    process.emitWarning = emitWarning;
  }
}
