/**
 * From the path of a pipeline file to its plan, or to an error that says what is wrong with the file and where.
 *
 * TypeScript and JavaScript run in a thread of their own, which ends with the load: what the file does there, such as
 * ending the process, throwing later, never coming to an end or filling its memory, ends that thread alone. Only what V8
 * itself ends a process for is out of reach.
 */
import { readFile, stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
} from 'node:worker_threads';
import { unreachable } from '../core/assert.ts';
import type { ParsedPlan } from '../core/definition/parse-plan.ts';
import type { PipelineJson } from '../core/definition/pipeline-json.ts';
import { parsePipelineText } from '../core/definition/pipeline-text.ts';
import type { Plan } from '../core/definition/plan.ts';
import { formatProblems, type Problem } from '../core/definition/problem.ts';
import { planOf } from '../runtime/plan-data.ts';

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

/** What the thread in `pipeline-evaluation.ts` is given. */
export interface EvaluationData {
  readonly path: string;
  /** Takes each `EvaluationMessage`. */
  readonly port: MessagePort;
}

/** What the thread in `pipeline-evaluation.ts` says: files as they are read, then one of the others. */
export type EvaluationMessage =
  | { readonly kind: 'read'; readonly path: string }
  | { readonly kind: 'pipeline'; readonly pipeline: PipelineJson }
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] }
  /** A sentence about the file, which follows its name. */
  | { readonly kind: 'failed'; readonly message: string };

export interface LoadOptions {
  /** Ends the load, which rejects with its reason. */
  readonly signal?: AbortSignal;
  /** Hears the absolute paths of files that the file imports by a relative path, also where the load fails. */
  readonly onRead?: (path: string) => void;
  readonly timeoutMs?: number;
  /** Of the heap that the file needs to load, with its buffers. */
  readonly memoryMibMax?: number;
}

const SCRIPT_EXTENSIONS = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs'];
const TIMEOUT_MS = 10_000;
const MEMORY_MIB_MAX = 512;
/**
 * The limit that V8 holds. It ends the whole process for one allocation beyond it, such as an array that doubles, so it is
 * far above the one that the thread is ended by.
 */
const HEAP_MIB_MAX = 4096;
const MEMORY_INTERVAL_MS = 25;

/**
 * The plan of a file: `.json`, or TypeScript or JavaScript whose default export is the pipeline or a promise of it. Reads
 * it again at each call. Rejects with `PipelineFileError`.
 */
export async function loadPipelineFile(path: string, options: LoadOptions = {}): Promise<Plan> {
  const absolute = resolve(path);
  const extension = extname(absolute);
  await checkReadable(path, absolute);
  if (SCRIPT_EXTENSIONS.includes(extension)) return evaluate(path, absolute, options);
  if (extension !== '.json') {
    const kinds = ['.json', ...SCRIPT_EXTENSIONS].join(', ');
    throw new PipelineFileError(`${path} is not a pipeline file: its name must end in ${kinds}`);
  }
  const parsed = await readJson(path, absolute);
  if (parsed.ok) return parsed.plan;
  throw invalid(path, parsed.problems);
}

function invalid(path: string, problems: readonly Problem[]): PipelineFileError {
  return new PipelineFileError(formatProblems(path, problems), { problems });
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

async function readJson(path: string, absolute: string): Promise<ParsedPlan> {
  const text = await readFile(absolute, 'utf8');
  try {
    return parsePipelineText(text);
  } catch (cause) {
    throw new PipelineFileError(`${path} is not JSON: ${messageOf(cause)}`, { cause });
  }
}

async function evaluate(path: string, absolute: string, options: LoadOptions): Promise<Plan> {
  const { signal, onRead = () => {} } = options;
  const { timeoutMs = TIMEOUT_MS, memoryMibMax = MEMORY_MIB_MAX } = options;
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Plan>();
  const refuse = (message: string) => reject(new PipelineFileError(`${path} ${message}`));
  // Not the port that the code of the file can have: what it posts there is none of these messages.
  const { port1: port, port2 } = new MessageChannel();
  const worker = new Worker(evaluationEntry, {
    workerData: { path: absolute, port: port2 } satisfies EvaluationData,
    transferList: [port2],
    name: 'pipeline file',
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
  });
  const hear = (message: EvaluationMessage) => {
    switch (message.kind) {
      case 'read':
        return onRead(message.path);
      case 'pipeline':
        return resolve(planOf(message.pipeline));
      case 'problems':
        return reject(invalid(path, message.problems));
      case 'failed':
        return refuse(message.message);
      default:
        return unreachable(message);
    }
  };
  /** Code that changes built-in objects changes what the thread says: then the file is refused. */
  const guarded =
    <T>(listener: (said: T) => void) =>
    (said: T) => {
      try {
        listener(said);
      } catch (cause) {
        refuse(`${UNFORESEEN} (${messageOf(cause)})`);
      }
    };
  port.on('message', guarded(hear));
  port.on(
    'messageerror',
    guarded((error) => refuse(`${UNFORESEEN} (${messageOf(error)})`)),
  );
  /** What the thread said before it ended: nothing promises that its messages come before its end. */
  const hearRest = () => {
    for (;;) {
      const rest = receiveMessageOnPort(port);
      if (rest === undefined) return;
      hear(rest.message);
    }
  };
  // Its own errors come as messages: this is for want of memory or of threads.
  worker.on(
    'error',
    guarded((error: unknown) => {
      hearRest();
      refuse(
        isOutOfMemory(error)
          ? tooLarge(memoryMibMax)
          : `could not be loaded:\n\n  ${messageOf(error)}`,
      );
    }),
  );
  worker.on(
    'exit',
    guarded(() => {
      hearRest();
      refuse('ended the process, or never finished, while it was loaded');
    }),
  );
  const timer = setTimeout(() => refuse(notInTime(timeoutMs)), timeoutMs);
  const stopWatching = watchMemory(worker, memoryMibMax, () => refuse(tooLarge(memoryMibMax)));
  const abort = () => reject(signal?.reason);
  signal?.addEventListener('abort', abort);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    stopWatching();
    signal?.removeEventListener('abort', abort);
    port.close();
    // Not waited for here: a call that blocks the thread, such as execSync, holds it up.
    const gone = worker.terminate();
    ending.add(gone);
    void gone.then(() => ending.delete(gone));
  }
}

/** Calls `onExceeded` when the thread takes more. Returns what ends the watch. */
function watchMemory(worker: Worker, mibMax: number, onExceeded: () => void): () => void {
  let isAsked = false;
  const look = async () => {
    if (isAsked) return;
    isAsked = true;
    try {
      const { total_heap_size, external_memory } = await worker.getHeapStatistics();
      if (total_heap_size + external_memory > mibMax * 2 ** 20) onExceeded();
    } catch {
      // It does not run yet, or no more.
    }
    isAsked = false;
  };
  const timer = setInterval(look, MEMORY_INTERVAL_MS);
  return () => clearInterval(timer);
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

/** Of threads that were told to end. */
const ending = new Set<Promise<number>>();

/**
 * False if a file that was loaded still blocks its thread after a time, with a call that cannot be interrupted: this process
 * would wait for that before it exits.
 */
export async function areThreadsGone(withinMs: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), withinMs);
  const gone = Promise.all(ending).then(() => true);
  return Promise.race([gone, late]).finally(() => clearTimeout(timer));
}

// Sources run as .ts and the built package as .js.
const evaluationEntry = new URL(
  `./pipeline-evaluation${extname(import.meta.url)}`,
  import.meta.url,
);

function notInTime(timeoutMs: number): string {
  return `was not loaded within ${timeoutMs / 1000} s, and was stopped: look for a loop without an end, or a request that is not answered, in it and in what it imports`;
}

const UNFORESEEN =
  'cannot be used: its pipeline did not arrive whole; look for code that changes built-in objects, in it and in what it imports';

function tooLarge(mibMax: number): string {
  return `needs more than ${mibMax} MiB of memory to load, and was stopped: look for a loop without an end, or for data that does not belong into a pipeline file, in it and in what it imports`;
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
