/**
 * From what the props hold of a pipeline to its plan, at once: a construct cannot wait. Scripts are loaded by `require`, which
 * takes modules too, with hooks that last as long as the load: they strip types, and `tidemark` is the copy beside this file.
 */
import { readFileSync } from 'node:fs';
// By name, an older Node could not even say what it lacks.
import * as nodeModule from 'node:module';
import { dirname, extname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { type ParsedPlan, parsePlan } from '../core/definition/parse-plan.ts';
import type { PipelineJson } from '../core/definition/pipeline-json.ts';
import { parsePipelineText } from '../core/definition/pipeline-text.ts';
import type { Plan } from '../core/definition/plan.ts';
import { planToJson } from '../core/definition/plan-json.ts';
import { formatProblems } from '../core/definition/problem.ts';

export interface LoadedPipeline {
  readonly plan: Plan;
  /** Where `tidemark.lock.json` lies: beside the pipeline file, or where `cdk` runs. */
  readonly folder: string;
}

const SCRIPT_EXTENSIONS = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs'];

/** Throws an error that names the file, and everything that is wrong with it. */
export function loadPipeline(pipeline: string | PipelineJson | Plan): LoadedPipeline {
  if (typeof pipeline !== 'string') {
    if (typeof pipeline !== 'object' || pipeline === null) {
      const expected = "expected the path of a pipeline file, such as './tidemark.config.ts'";
      throw new Error(`pipeline is ${String(pipeline)}: ${expected}, or the pipeline itself`);
    }
    const json = isPlan(pipeline) ? planToJson(pipeline) : pipeline;
    return { plan: planOf('the pipeline', parsedOf('the pipeline', json)), folder: process.cwd() };
  }
  const absolute = resolve(pipeline);
  return { plan: planOf(pipeline, readPlan(pipeline, absolute)), folder: dirname(absolute) };
}

function isPlan(pipeline: PipelineJson | Plan): pipeline is Plan {
  return 'hash' in pipeline && Array.isArray(pipeline.views);
}

function planOf(name: string, parsed: ParsedPlan): Plan {
  if (parsed.ok) return parsed.plan;
  throw new Error(formatProblems(name, parsed.problems));
}

/** A getter of the pipeline's own may throw. */
function parsedOf(name: string, json: unknown): ParsedPlan {
  try {
    return parsePlan(json);
  } catch (cause) {
    throw new Error(`${name} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

function readPlan(path: string, absolute: string): ParsedPlan {
  const extension = extname(absolute);
  if (SCRIPT_EXTENSIONS.includes(extension)) {
    return parsedOf(path, requireDefault(path, absolute));
  }
  if (extension !== '.json') {
    const kinds = ['.json', ...SCRIPT_EXTENSIONS].join(', ');
    throw new Error(`${path} is not a pipeline file: its name must end in ${kinds}`);
  }
  const text = readText(path, absolute);
  try {
    return parsePipelineText(text);
  } catch (cause) {
    throw new Error(`${path} is not JSON: ${messageOf(cause)}`, { cause });
  }
}

function readText(path: string, absolute: string): string {
  try {
    return readFileSync(absolute, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw new Error(`the pipeline file ${path} cannot be read: ${messageOf(cause)}`, { cause });
    }
    const hint = 'a path counts from the folder in which cdk runs';
    throw new Error(`there is no pipeline file ${path} (looked for ${absolute}); ${hint}`, {
      cause,
    });
  }
}

function requireDefault(path: string, absolute: string): unknown {
  readText(path, absolute);
  assertNode(path);
  const exported = requireWithHooks(path, absolute);
  const names = typeof exported === 'object' && exported !== null ? Object.keys(exported) : [];
  const value = isModule(exported) ? exported['default'] : exported;
  const pipeline = isModule(value) ? value['default'] : value;
  if (pipeline instanceof Promise) {
    const todo = 'export the pipeline itself, since CDK does not wait';
    throw new Error(`the default export of ${path} is a promise: ${todo}`);
  }
  if (pipeline !== undefined && (names.length > 0 || typeof pipeline !== 'object')) return pipeline;
  const expected = 'expected the pipeline as its default export: export default pipeline({ … })';
  const others = names.length === 0 ? 'it exports nothing' : `it exports ${names.join(', ')}`;
  throw new Error(`${path} has no default export (${others}); ${expected}`);
}

function assertNode(path: string): void {
  if (typeof nodeModule.registerHooks === 'function') return;
  throw new Error(
    `${path} needs Node 22.18 or newer to be loaded; this is Node ${process.versions.node}: install a newer one, or give the pipeline as JSON ('npx tidemark check --json' prints it)`,
  );
}

/** True for a module's namespace, and for what compilers make of `export default` where they write CommonJS. */
function isModule(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '__esModule') || Reflect.get(value, Symbol.toStringTag) === 'Module';
}

const require = nodeModule.createRequire(import.meta.url);
const TYPESCRIPT = /\.[cm]?ts$/;

// Sources run as .ts and the built package as .js: the copy beside this file is of the same kind.
const isSource = import.meta.url.endsWith('.ts');
const packageUrl = new URL(`../core/definition/index.${isSource ? 'ts' : 'js'}`, import.meta.url)
  .href;

function requireWithHooks(path: string, absolute: string): unknown {
  const hooks = nodeModule.registerHooks({ resolve: resolveOurs, load: loadTypeScript });
  try {
    return require(absolute);
  } catch (cause) {
    const isAsync =
      (cause as NodeJS.ErrnoException | null | undefined)?.code === 'ERR_REQUIRE_ASYNC_MODULE';
    const reason = isAsync ? 'it awaits at its top level, and CDK does not wait' : messageOf(cause);
    throw new Error(`${path} could not be loaded: ${reason}`, { cause });
  } finally {
    hooks.deregister();
  }
}

type Hooks = Parameters<typeof nodeModule.registerHooks>[0];

const resolveOurs: NonNullable<Hooks['resolve']> = (specifier, context, nextResolve) => {
  if (specifier !== 'tidemark') return nextResolve(specifier, context);
  const format = isSource ? 'module-typescript' : 'module';
  return { url: packageUrl, format, shortCircuit: true };
};

const loadTypeScript: NonNullable<Hooks['load']> = (url, context, nextLoad) => {
  if (!url.startsWith('file:') || !TYPESCRIPT.test(new URL(url).pathname)) {
    return nextLoad(url, context);
  }
  const path = fileURLToPath(url);
  const source = stripTypes(readFileSync(path, 'utf8'), path);
  return { format: formatOf(path, source), source, shortCircuit: true };
};

/** What compiles as CommonJS is; anything else is a module, whatever the nearest package.json says. */
function formatOf(path: string, source: string): 'module' | 'commonjs' {
  if (path.endsWith('.mts')) return 'module';
  if (path.endsWith('.cts')) return 'commonjs';
  try {
    compileFunction(source, ['exports', 'require', 'module', '__filename', '__dirname']);
    return 'commonjs';
  } catch {
    return 'module';
  }
}

/** Node says once that stripping is experimental, which the author of a pipeline can do nothing about. */
function stripTypes(source: string, path: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return nodeModule.stripTypeScriptTypes(source, { sourceUrl: path });
  } finally {
    process.emitWarning = emitWarning;
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
