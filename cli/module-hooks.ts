/**
 * Loading a pipeline written in TypeScript or JavaScript, wherever it lies: in a folder without package.json, in a
 * CommonJS package, beside no installed Tidemark.
 *
 * - `tidemark` is this program's own copy, so that a file needs nothing installed and never meets another version.
 * - A file that was asked for by `importFresh`, and what it imports by a relative path, is read and judged here: types
 *   are stripped, and what is no CommonJS is a module, whatever the nearest package.json says.
 * - A query in their address tells these files from all others, and one load from the next: a file that changed is read
 *   again. Node keeps the old ones; a person does not save often enough for that to matter.
 * - Where a symbolic link leads is asked at each load. Node remembers where it led first, so after a link has been set
 *   anew (a ConfigMap, `current/` of a deployment) it would read the old file again.
 */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import {
  createRequire,
  type LoadHookContext,
  type ModuleFormat,
  type ResolveHookContext,
  registerHooks,
  stripTypeScriptTypes,
} from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { types } from 'node:util';
import { compileFunction } from 'node:vm';

const require = createRequire(import.meta.url);
const QUERY = 'tidemark-load';
const TYPESCRIPT = /\.[cm]?ts$/;
const SCRIPT = /\.[cm]?[jt]s$/;
const RELATIVE = /^\.\.?\//;

// Sources run as .ts and the built package as .js: the copy beside this file is of the same kind.
const isSource = import.meta.url.endsWith('.ts');
const packageUrl = new URL(`../core/definition/index.${isSource ? 'ts' : 'js'}`, import.meta.url)
  .href;

let isRegistered = false;
let loadCount = 0;
/** What the last load read; of one that failed, as far as it came. */
const imported = new Set<string>();
/** Paths by which the last load asked for files, where a link leads from them to another path. */
const links = new Map<string, string>();

/** Imports the module at an absolute path as it is now, even if it was imported before. Rejects with Node's errors. */
export async function importFresh(path: string): Promise<Readonly<Record<string, unknown>>> {
  if (!isRegistered) registerHooks({ resolve, load });
  isRegistered = true;
  imported.clear();
  links.clear();
  const realPath = realpathSync(path);
  forgetCommonJs(realPath, new Set());
  if (formatOf(realPath, readSource(realPath)) === 'commonjs') {
    // Imported, it would not see these hooks in its own `require` before Node 24.
    const exported: unknown = require(realPath);
    noteRequired(realPath);
    return types.isModuleNamespaceObject(exported)
      ? (exported as Record<string, unknown>)
      : { default: exported };
  }
  const url = pathToFileURL(realPath);
  url.searchParams.set(QUERY, String(++loadCount));
  return (await import(url.href)) as Record<string, unknown>;
}

/**
 * The files that the last `importFresh` read: the one that was asked for, and what it imported by a relative path; and the
 * links that led to them.
 */
export function importedFiles(): readonly string[] {
  const leading = [...links].filter(([, realPath]) => imported.has(realPath));
  return [...imported, ...leading.map(([path]) => path)];
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
  const resolved = nextResolve(specifier, context);
  const { parentURL } = context;
  const query = loadQuery(parentURL);
  const isOwn = query !== null || (isRequired(context) && !parentURL?.includes('/node_modules/'));
  if (!isOwn || !RELATIVE.test(specifier)) return resolved;
  const current = resolvedNow(specifier, parentURL as string) ?? resolved.url;
  if (query === null || isRequired(context)) {
    return current === resolved.url ? resolved : { url: current, shortCircuit: true };
  }
  const url = new URL(current);
  url.searchParams.set(QUERY, query);
  return { ...resolved, url: url.href };
};

/** What `require` may leave out of a file's name. */
const ENDINGS = ['', '.js', '.json', '/index.js'];

/** Where a relative path leads at this moment; null if that is no file. */
function resolvedNow(specifier: string, parentUrl: string): string | null {
  if (!parentUrl.startsWith('file:')) return null;
  const parent = new URL(parentUrl);
  parent.search = '';
  for (const ending of ENDINGS) {
    try {
      const path = fileURLToPath(new URL(`${specifier}${ending}`, parent));
      if (!statSync(path).isFile()) continue;
      const realPath = realpathSync(path);
      if (realPath !== path) links.set(path, realPath);
      return pathToFileURL(realPath).href;
    } catch {
      // Not this one; where it is none of them, Node says so.
    }
  }
  return null;
}

const load: Load = (url, context, nextLoad) => {
  if (loadQuery(url) === null) return nextLoad(url, context);
  const path = fileURLToPath(url);
  imported.add(path);
  if (!SCRIPT.test(path)) return nextLoad(url, context);
  const source = readSource(path);
  return { format: formatOf(path, source), source, shortCircuit: true };
};

/** Which load a file belongs to, or null if it is none of a pipeline. */
function loadQuery(url: string | undefined): string | null {
  if (url === undefined || !url.startsWith('file:')) return null;
  return new URL(url).searchParams.get(QUERY);
}

function isRequired(context: ResolveHookContext): boolean {
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

/** CommonJS modules are kept by path whatever the query: forgets this one and what it required. */
function forgetCommonJs(path: string, seen: Set<string>): void {
  const module = require.cache[path];
  if (module === undefined || seen.has(path) || path.includes('/node_modules/')) return;
  seen.add(path);
  for (const child of module.children) forgetCommonJs(child.filename, seen);
  delete require.cache[path];
}

function noteRequired(path: string): void {
  if (imported.has(path) || path.includes('/node_modules/')) return;
  imported.add(path);
  for (const child of require.cache[path]?.children ?? []) noteRequired(child.filename);
}
