import { resolve } from 'node:path';
import { Command } from 'commander';
import type { Plan } from '../../core/definition/plan.ts';
import { BATCH_RECORDS_MAX } from '../../core/limits.ts';
import type { DevRuntime } from '../../runtime/dev-runtime.ts';
import { ChildCommand } from '../child-command.ts';
import { type DevOutput, devOutput } from '../dev-output.ts';
import { errorText } from '../error-text.ts';
import { FileWatch, signaturesOf } from '../file-watch.ts';
import {
  collect,
  DEFAULT_PORT,
  dataOption,
  jsonOption,
  pipelineOption,
  wholeNumber,
} from '../option-values.ts';
import { onOutputFailure } from '../output-failure.ts';
import { loadPipelineFile } from '../pipeline-file.ts';
import { portEnvironment, shellLines } from '../port-environment.ts';
import { shellWord } from '../shell-word.ts';
import { UsageError } from '../usage-error.ts';

interface DevOptions {
  readonly pipeline: string;
  readonly data: string;
  readonly port: number;
  readonly shards?: number;
  readonly environments: number;
  readonly environmentMemory: number;
  readonly batchWindow: number;
  readonly allowHost?: string[];
  readonly region: string;
  readonly json?: boolean;
}

const INVOCATION_TIMEOUT_MS = 60_000;

export function devCommand(): Command {
  return new Command('dev')
    .description('run a pipeline on this machine: Kinesis API, aggregation, queries, on one port')
    .usage('[options] [-- command...]')
    .argument(
      '[command...]',
      'runs beside it, in an environment that leads AWS SDKs here, and ends it',
    )
    .addOption(pipelineOption())
    .addOption(dataOption())
    .option(
      '--port <n>',
      'the port on 127.0.0.1; 0 takes a free one',
      wholeNumber(0, 65_535),
      DEFAULT_PORT,
    )
    .option('--shards <n>', 'shards of a new stream (default 1)', wholeNumber(1, 256))
    .option(
      '--environments <n>',
      'environments that batches are routed to at random',
      wholeNumber(1, 64),
      1,
    )
    .option('--environment-memory <mib>', 'memory of one environment', wholeNumber(32, 65_536), 512)
    .option(
      '--batch-window <ms>',
      `how long a batch of fewer than ${BATCH_RECORDS_MAX} records waits for more`,
      wholeNumber(0, 300_000),
      200,
    )
    .option(
      '--allow-host <name>',
      'a name by which clients may call this port; may repeat',
      collect,
    )
    .option('--region <name>', 'the AWS region in ARNs', 'us-east-1')
    .addOption(jsonOption())
    .action(run);
}

async function run(command: readonly string[], options: DevOptions): Promise<void> {
  if (command.length > 0 && !process.argv.includes('--')) {
    const example = `tidemark dev -- ${command.map(shellWord).join(' ')}`;
    throw new UsageError(`unexpected '${command[0]}'; a command to run comes after --: ${example}`);
  }
  const { pipeline: path, region } = options;
  const source = new PipelineSource(path);
  const plan = await source.load();
  // A change while it starts counts too.
  const asLoaded = signaturesOf(source.files());
  const output = devOutput(options.json ?? false, command.length > 0);
  onOutputFailure({ meaning: 'the pipeline goes on without it', goesOn: true });
  // Loaded here, so that no other command waits for it.
  const { DevRuntime } = await import('../../runtime/dev-runtime.ts');
  await import('../../runtime/keep-compiled.ts');
  const runtime = await DevRuntime.start({
    plan,
    dataFolder: options.data,
    port: options.port,
    shardCount: options.shards ?? null,
    environmentCount: options.environments,
    environmentMemoryMib: options.environmentMemory,
    batchWindowMs: options.batchWindow,
    invocationTimeoutMs: INVOCATION_TIMEOUT_MS,
    allowHosts: options.allowHost ?? [],
    region,
    onEvent: (event) => output.tell(event),
  });
  // Not before: a signal ends a start as any other program, which is as safe as a crash, and holds where the start hangs.
  const signals = new Signals();
  const { url, shardCount: shards, restoredRecords } = runtime;
  const { environments } = options;
  const counts = { shards, environments, restoredRecords };
  output.tell({ kind: 'ready', pipeline: plan.name, url, ...counts });
  if (command.length === 0) output.say(exportLines(url, region));
  const watch = new FileWatch(
    () => source.files(),
    (signal) => reload(source, signal, runtime, output),
    asLoaded,
  );
  try {
    const lost = runtime.lost.then((error) => {
      throw error;
    });
    if (command.length === 0) await Promise.race([signals.first, lost]);
    else process.exitCode = await runBeside(command, url, region, signals, lost);
  } finally {
    watch.stop();
    await runtime.close();
  }
}

function exportLines(url: string, region: string): string[] {
  const shell = process.env['SHELL'] ?? (process.platform === 'win32' ? 'powershell' : 'sh');
  return [
    'Producers find it with any AWS SDK or the AWS CLI after:',
    ...shellLines(url, region, shell).map((line) => `  ${line}`),
  ];
}

/** The pipeline file, and what its newest load has read. */
class PipelineSource {
  readonly path: string;
  #read = new Set<string>();

  constructor(path: string) {
    this.path = path;
  }

  load(signal?: AbortSignal): Promise<Plan> {
    const read = new Set<string>();
    this.#read = read;
    const onRead = (file: string) => read.add(file);
    return loadPipelineFile(this.path, { onRead, ...(signal === undefined ? {} : { signal }) });
  }

  files(): string[] {
    return [...new Set([resolve(this.path), ...this.#read])];
  }
}

/** Goes over to the plan of the changed file; what cannot be used is told, and the one before goes on. */
async function reload(
  source: PipelineSource,
  signal: AbortSignal,
  runtime: DevRuntime,
  output: DevOutput,
): Promise<void> {
  const { path } = source;
  try {
    const plan = await source.load(signal);
    // A newer file, or the end of this process, has overtaken it.
    if (signal.aborted) return;
    const outcome = await runtime.reload(plan);
    if (outcome === 'same') output.tell({ kind: 'plan-unchanged', path });
  } catch (error) {
    if (signal.aborted) return;
    output.tell({ kind: 'reload-failed', path, message: errorText(error) });
  }
}

/** Runs a command until it ends; its exit code. It is ended when `lost` rejects. */
async function runBeside(
  command: readonly string[],
  url: string,
  region: string,
  signals: Signals,
  lost: Promise<never>,
): Promise<number> {
  const child = new ChildCommand(command, portEnvironment(url, region, process.env));
  signals.passTo((signal, count) => child.signal(signal, count));
  return Promise.race([
    child.ended,
    lost.catch(async (error) => {
      child.signal('SIGTERM', 1);
      await child.ended;
      throw error;
    }),
  ]);
}

/** What ends a process from outside. Unless they are passed on, a second one ends the process at once. */
class Signals {
  /** Resolves at the first. */
  readonly first: Promise<void>;
  #passTo: ((signal: NodeJS.Signals, count: number) => void) | null = null;
  #count = 0;
  #newest: NodeJS.Signals | null = null;

  constructor() {
    this.first = new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
        process.on(signal, () => {
          this.#count++;
          this.#newest = signal;
          if (this.#passTo !== null) this.#passTo(signal, this.#count);
          // An exit would wait for threads that are blocked.
          else if (this.#count > 1) process.kill(process.pid, 'SIGKILL');
          resolve();
        });
      }
    });
  }

  /** From now on, and those that came before. */
  passTo(listener: (signal: NodeJS.Signals, count: number) => void): void {
    this.#passTo = listener;
    if (this.#newest !== null) listener(this.#newest, this.#count);
  }
}
