import { Command, InvalidArgumentError, Option } from 'commander';
import type { Retries } from '../../testing/arrivals.ts';
import { type Delays, delayDraw, InvalidDelay } from '../../testing/delays.ts';
import type { SimulateOptions } from '../../testing/simulate.ts';
import { jsonOption, pipelineOption, wholeNumber } from '../option-values.ts';
import { loadPipelineFile } from '../pipeline-file.ts';
import { printableJson, printableLines } from '../printable.ts';
import {
  addRecordOptions,
  RECORD_FILE_DESCRIPTION,
  type RecordOptions,
  readingOf,
} from '../record-options.ts';
import { shown } from '../records/byte-source.ts';
import { RecordFileError } from '../records/file-record.ts';

interface SimulateCommandOptions extends RecordOptions {
  readonly pipeline: string;
  readonly records: string;
  readonly seeds: number;
  readonly seed?: number;
  readonly delay?: Delays;
  readonly retries?: Retries | 'none';
  readonly faults: 'default' | 'none';
  readonly shards: number;
  readonly key?: string;
  readonly limit: number;
  readonly json?: boolean;
}

const LIMIT_DEFAULT = 20_000;
const LIMIT_MAX = 1_000_000;
const SHARDS_MAX = 64;
const SEEDS_MAX = 100_000;

export function simulateCommand(): Command {
  const command = new Command('simulate')
    .description('run a pipeline on records in a simulated world, and say what its settings cost')
    .addOption(pipelineOption())
    .requiredOption('--records <file>', RECORD_FILE_DESCRIPTION)
    .option('--seeds <count>', 'how many seeds, from 1 on', wholeNumber(1, SEEDS_MAX), 20)
    .option('--seed <number>', 'this seed only', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option(
      '--delay <delay>',
      'from a record\'s own time to its arrival: "10m", or "p50=2s,p99=1m,max=10m" (default: records arrive in the order of the file)',
      delay,
    )
    .option(
      '--retries <share>',
      'records that producers send twice, such as 0.05, or none (default: 0.02 if the pipeline has dedupe)',
      retries,
    )
    .addOption(
      new Option('--faults <which>', 'crashes, lost answers and the like')
        .choices(['default', 'none'])
        .default('default'),
    )
    .option('--shards <count>', 'shards of the stream', wholeNumber(1, SHARDS_MAX), 2)
    .option(
      '--key <field>',
      'the field whose value is the partition key (default: the first that a view groups by)',
    )
    .option(
      '--limit <count>',
      'records of the file that are read',
      wholeNumber(1, LIMIT_MAX),
      LIMIT_DEFAULT,
    );
  return addRecordOptions(command).addOption(jsonOption()).action(run);
}

async function run(options: SimulateCommandOptions): Promise<void> {
  const plan = await loadPipelineFile(options.pipeline);
  // Loaded here, so that no other command waits for them.
  const [{ recordsOf }, { simulate }] = await Promise.all([
    import('../records/record-file.ts'),
    import('../../testing/simulate.ts'),
  ]);
  const records: Uint8Array[] = [];
  let isWhole = true;
  const reading = readingOf(options, plan, (text) => console.error(text));
  for await (const { data } of recordsOf(options.records, reading)) {
    isWhole = records.length < options.limit;
    if (!isWhole) break;
    records.push(data);
  }
  if (records.length === 0) {
    throw new RecordFileError(`${shown(options.records)} has no records: nothing was simulated`);
  }
  const { seed, delay: delays, retries: resent, key } = options;
  const simulated: SimulateOptions = {
    records,
    seeds: seed === undefined ? options.seeds : [seed],
    faults: options.faults,
    shards: options.shards,
    ...(delays === undefined ? {} : { delays }),
    ...(resent === undefined ? {} : { retries: resent }),
    ...(key === undefined ? {} : { partitionKey: key }),
  };
  const { text, ...report } = await simulate(plan, simulated);
  if (!isWhole)
    console.error(
      `only the first ${options.limit.toLocaleString('en-US')} records of ${options.records} were read (--limit)`,
    );
  console.log(options.json ? printableJson(report, 2) : printableLines(text));
  if (report.findings.length > 0) process.exitCode = 1;
}

function delay(text: string): Delays {
  const delays = namedDelay(text);
  try {
    delayDraw(delays);
  } catch (error) {
    if (!(error instanceof InvalidDelay)) throw error;
    throw invalidDelay();
  }
  return delays;
}

function namedDelay(text: string): Delays {
  if (!text.includes('=')) return text;
  const parts = text.split(',').map((part) => /^(p50|p99|max)=(.+)$/.exec(part));
  if (parts.some((part) => part === null)) throw invalidDelay();
  const named = Object.fromEntries(parts.map((part) => [part?.[1], part?.[2]]));
  if (named['p50'] === undefined) throw invalidDelay();
  return named as { p50: string };
}

function invalidDelay(): InvalidArgumentError {
  return new InvalidArgumentError(
    'expected a duration such as 10m, or p50=2s,p99=1m,max=10m, none less than the one before.',
  );
}

const RETRY_DELAY = { p50: '1s', p99: '30s', max: '1m' };

function retries(text: string): Retries | 'none' {
  if (text === 'none') return 'none';
  const share = Number(text);
  if (text.trim() === '' || !(share >= 0 && share <= 1)) {
    throw new InvalidArgumentError('expected a share from 0 to 1, or none.');
  }
  return { share, after: RETRY_DELAY };
}
