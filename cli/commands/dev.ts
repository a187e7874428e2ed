import { Command } from 'commander';
import { BATCH_RECORDS_MAX } from '../../core/limits.ts';
import type { DevRuntime, RuntimeEvent } from '../../runtime/dev-runtime.ts';
import {
  collect,
  DEFAULT_PORT,
  jsonOption,
  pipelineOption,
  wholeNumber,
} from '../option-values.ts';
import { loadPipelineFile } from '../pipeline-file.ts';

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
    .addOption(pipelineOption())
    .option('--data <dir>', 'the data folder', '.tidemark')
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

async function run(options: DevOptions): Promise<void> {
  const plan = await loadPipelineFile(options.pipeline);
  const print = options.json ? printJson : printText;
  const stopped = signalled();
  // Loaded here, so that no other command waits for it.
  const { DevRuntime } = await import('../../runtime/dev-runtime.ts');
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
    region: options.region,
    onEvent: print,
  });
  announce(runtime, plan.name, options);
  await stopped;
  await runtime.close();
}

function announce(runtime: DevRuntime, pipeline: string, options: DevOptions): void {
  const { url, shardCount, restoredRecords } = runtime;
  const { environments, region } = options;
  if (options.json) {
    console.log(
      JSON.stringify({
        event: 'ready',
        pipeline,
        url,
        shards: shardCount,
        environments,
        restoredRecords,
      }),
    );
    return;
  }
  const counts = `${plural(shardCount, 'shard')}, ${plural(environments, 'environment')}`;
  const known =
    restoredRecords === 0 ? '' : `, ${plural(restoredRecords, 'record')} in checkpoints`;
  console.log(`tidemark dev: pipeline ${pipeline} is ready at ${url} (${counts}${known})`);
  console.log(
    [
      'Producers find it with any AWS SDK or the AWS CLI after:',
      `  export AWS_ENDPOINT_URL_KINESIS=${url}`,
      `  export AWS_REGION=${region} AWS_DEFAULT_REGION=${region}`,
      '  export AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local',
    ].join('\n'),
  );
}

/** Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. */
function signalled(): Promise<void> {
  return new Promise((resolve) => {
    let count = 0;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        count++;
        if (count > 1) process.exit(1);
        resolve();
      });
    }
  });
}

function printText(event: RuntimeEvent): void {
  switch (event.kind) {
    case 'replaying':
      console.log(`replaying ${plural(event.records, 'record')} that no checkpoint holds yet`);
      return;
    case 'replayed':
      console.log(`replayed ${plural(event.records, 'record')}, ${event.ms} ms after the start`);
      return;
    case 'invocation-failed': {
      const { name, message, hint, stack } = event.failure;
      const isExpected = name.endsWith('Fault') && name !== 'InvariantFault';
      console.error(`${event.shardId}: ${isExpected ? `${name}: ${message}` : (stack ?? message)}`);
      if (hint !== null) console.error(`  ${hint}`);
      console.error(`  nothing is lost; the batch comes again in ${event.retryInMs} ms`);
      return;
    }
    case 'request-failed':
    case 'trim-failed':
      console.error(event.error);
      return;
  }
}

function printJson(event: RuntimeEvent): void {
  const { kind, ...rest } = event;
  const error = 'error' in rest ? { error: String(rest.error) } : {};
  console.log(JSON.stringify({ event: kind, ...rest, ...error }));
}

function plural(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
