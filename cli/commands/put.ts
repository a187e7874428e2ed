import type { KinesisClient } from '@aws-sdk/client-kinesis';
import { Command } from 'commander';
import { PathSample } from '../../core/decode/path-sample.ts';
import type { Plan } from '../../core/definition/plan.ts';
import { RECORD_BYTES_MAX } from '../../core/limits.ts';
import { countText } from '../count-text.ts';
import { jsonOption, kinesisEndpointOption, PIPELINE_FILE, wholeNumber } from '../option-values.ts';
import { onOutputFailure } from '../output-failure.ts';
import { PartitionKeys } from '../partition-key.ts';
import { printableLines } from '../printable.ts';
import { putFailureText, refusalText } from '../put-failure.ts';
import { planForPut } from '../put-plan.ts';
import { putReportLines, queryPlaceText } from '../put-report.ts';
import {
  addRecordOptions,
  RECORD_FILE_DESCRIPTION,
  type RecordOptions,
  readingOf,
} from '../record-options.ts';
import type { RecordProducer } from '../record-producer.ts';
import { shown } from '../records/byte-source.ts';
import { type FileRecord, RecordFileError, tooLarge } from '../records/file-record.ts';
import type { RecordReading } from '../records/record-file.ts';
import { RefusalTally, type RefusedRecords } from '../refused-records.ts';
import { UsageError } from '../usage-error.ts';

interface PutOptions extends RecordOptions {
  readonly key: string;
  readonly stream?: string;
  readonly pipeline?: string;
  readonly kinesisEndpoint: string;
  readonly aws?: boolean;
  readonly region?: string;
  readonly fromLine: number;
  readonly json?: boolean;
}

const PROGRESS_MS = 500;
/** How long a record waits for others to go with. */
const LINGER_MS = 200;
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

export function putCommand(): Command {
  const command = new Command('put')
    .description('put the records of a file into the stream, as they are')
    .argument('<file>', RECORD_FILE_DESCRIPTION)
    .requiredOption(
      '--key <field>',
      'the field whose value is the partition key; dots reach into nested fields, \\. is a dot in a name',
    )
    .option('--stream <name>', 'the stream (default: that of the pipeline)')
    .option(
      '--pipeline <file>',
      `the pipeline file (default: the pipeline that tidemark dev runs, otherwise ${PIPELINE_FILE})`,
    )
    .addOption(kinesisEndpointOption())
    .option('--aws', "find the Kinesis API by AWS's own rules instead")
    .option('--region <name>', 'the AWS region')
    .option(
      '--from-line <number>',
      'begin at this line (of Parquet the row, of a JSON array the element), to go on after a failure',
      wholeNumber(1, Number.MAX_SAFE_INTEGER),
      1,
    );
  return addRecordOptions(command).addOption(jsonOption()).action(put);
}

async function put(path: string, options: PutOptions): Promise<void> {
  const plan = await planForPut({
    pipeline: options.pipeline ?? PIPELINE_FILE,
    isFileNamed: options.pipeline !== undefined,
    stream: options.stream,
    endpoint: options.aws ? null : options.kinesisEndpoint,
  });
  const stream = options.stream ?? (plan as Plan).stream;
  const keys = new PartitionKeys(options.key, shown(path));
  // Loaded here, so that no other command waits for the AWS SDK.
  const [{ kinesisClient }, { RecordProducer }] = await Promise.all([
    import('../kinesis-client.ts'),
    import('../record-producer.ts'),
  ]);
  const client = kinesisClient({
    aws: options.aws ?? false,
    endpoint: options.kinesisEndpoint,
    ...(options.region === undefined ? {} : { region: options.region }),
  });
  const onFailure = async () => false;
  const producer = new RecordProducer({
    client,
    stream,
    requestsMax: 1,
    lingerMs: LINGER_MS,
    onFailure,
  });
  const reading = {
    ...readingOf(options, plan, (text) => console.error(text)),
    fromNumber: options.fromLine,
  };
  const run = new PutRun(path, reading, keys, producer);
  try {
    await run.run();
  } catch (error) {
    throw await explain(error, run, client, stream, options);
  } finally {
    client.destroy();
    // A read of it may be under way still.
    if (path === '-') process.stdin.destroy();
  }
  report(run, stream, options);
  if (producer.acknowledgedCount === 0 && run.stoppedBy === null) {
    const from = options.fromLine === 1 ? '' : ` from --from-line ${options.fromLine} on`;
    console.error(`${shown(path)} has no records${from}: nothing was put`);
  }
}

class PutRun {
  readonly #path: string;
  readonly #reading: RecordReading;
  readonly #sample: PathSample | null;
  readonly #tally: RefusalTally | null;
  readonly keys: PartitionKeys;
  readonly producer: RecordProducer;
  /** The signal that ended it early. */
  stoppedBy: keyof typeof SIGNALS | null = null;
  /** The newest record that was read. */
  #number: number;

  constructor(path: string, reading: RecordReading, keys: PartitionKeys, producer: RecordProducer) {
    this.#path = path;
    this.#reading = reading;
    this.#sample = reading.plan === null ? null : new PathSample(reading.plan);
    this.#tally = reading.plan === null ? null : new RefusalTally(reading.plan);
    this.#number = reading.fromNumber - 1;
    this.keys = keys;
    this.producer = producer;
  }

  get plan(): Plan | null {
    return this.#reading.plan;
  }

  /** Of those that were put; null if the pipeline is not known. */
  get refused(): RefusedRecords[] | null {
    return this.#tally?.refused ?? null;
  }

  /** Where another run goes on: from there on nothing is known to be in. */
  get goOnFrom(): number {
    return this.producer.firstUnacknowledged ?? this.#number + 1;
  }

  async run(): Promise<void> {
    const { stop } = this.#reading;
    this.producer.failed.catch((error: unknown) => stop.fail(error));
    const stopWatching = onSignals((signal) => {
      this.stoppedBy = signal;
      stop.stop();
    });
    const stopProgress = showProgress(this.producer);
    try {
      await this.#putAll();
      await this.producer.flush();
    } finally {
      stopProgress();
      stopWatching();
    }
  }

  async #putAll(): Promise<void> {
    const { recordsOf } = await import('../records/record-file.ts');
    try {
      for await (const record of recordsOf(this.#path, this.#reading)) await this.#put(record);
      this.#tellHints();
    } catch (error) {
      const isRefusal = error instanceof RecordFileError || error instanceof UsageError;
      // What a stop has cut off is no fault of the file.
      if (isRefusal && this.stoppedBy !== null) return;
      // What came before a record that is refused is sent, and nothing after it.
      if (isRefusal) await this.producer.flush();
      throw error;
    }
  }

  async #put(record: FileRecord): Promise<void> {
    const { data, unit, number } = record;
    const key = this.keys.keyOf(record);
    const byteLength = data.byteLength + Buffer.byteLength(key);
    if (byteLength > RECORD_BYTES_MAX) {
      const where = `${shown(this.#path)}, ${unit} ${number}`;
      throw tooLarge(where, byteLength.toLocaleString('en-US'), number);
    }
    if (this.#sample?.isFull === false) {
      this.#sample.add(data);
      if (this.#sample.isFull) this.#tellHints();
    }
    this.#tally?.add(record, Date.now());
    this.#number = number;
    await this.producer.put(key, data, number);
  }

  /** Once: when the sample is full, or all records are read. */
  #hintsAreTold = false;

  #tellHints(): void {
    if (this.#hintsAreTold) return;
    this.#hintsAreTold = true;
    for (const { text } of this.#sample?.hints({ withoutOther: false }) ?? []) {
      this.#reading.tell(`warning: ${text}`);
    }
  }
}

/** At the first signal `onSignal`; a second one ends the process at once. Returns what ends the watch. */
function onSignals(onSignal: (signal: keyof typeof SIGNALS) => void): () => void {
  let isFirst = true;
  const watch = (signal: NodeJS.Signals) => {
    if (!isFirst) process.exit(SIGNALS[signal as keyof typeof SIGNALS]);
    isFirst = false;
    onSignal(signal as keyof typeof SIGNALS);
  };
  for (const signal of Object.keys(SIGNALS)) process.on(signal, watch);
  return () => {
    for (const signal of Object.keys(SIGNALS)) process.off(signal, watch);
  };
}

function report(run: PutRun, stream: string, options: PutOptions): void {
  const { key, json, aws, kinesisEndpoint } = options;
  const { producer, keys, stoppedBy } = run;
  const { acknowledgedCount, acknowledged } = producer;
  const { withoutKey } = keys;
  const after = [...acknowledged].map(([shardId, sequence]) => `${shardId}:${sequence}`);
  if (stoppedBy !== null) {
    process.exitCode = SIGNALS[stoppedBy];
    console.error(
      `stopped by ${stoppedBy} after ${countText(acknowledgedCount, 'record')}; to go on, add --from-line ${run.goOnFrom}`,
    );
  }
  onOutputFailure({
    meaning: `${countText(acknowledgedCount, 'record')} ${acknowledgedCount === 1 ? 'was' : 'were'} put into ${stream} and acknowledged all the same; do not put them again`,
    goesOn: false,
  });
  if (json) {
    const stopped = stoppedBy === null ? {} : { stoppedBy, fromLine: run.goOnFrom };
    console.log(JSON.stringify({ put: acknowledgedCount, withoutKey, after, ...stopped }));
    return;
  }
  const lines = putReportLines({
    put: acknowledgedCount,
    stream,
    keyField: key,
    withoutKey,
    after,
    view: run.plan?.views[0]?.name ?? null,
    refused: run.refused,
    place: queryPlaceText(aws ? null : kinesisEndpoint, process.env['TIDEMARK_QUERY_URL']),
  });
  console.log(printableLines(lines.join('\n')));
}

async function explain(
  error: unknown,
  run: PutRun,
  client: KinesisClient,
  stream: string,
  { aws = false, kinesisEndpoint }: PutOptions,
): Promise<Error> {
  const { acknowledgedCount } = run.producer;
  if (error instanceof UsageError) return error;
  if (error instanceof RecordFileError) {
    const { goOnFrom } = run;
    return new Error(refusalText(error, { acknowledgedCount, goOnFrom }), { cause: error });
  }
  const done = `${countText(acknowledgedCount, 'record')} ${acknowledgedCount === 1 ? 'was' : 'were'} acknowledged before it`;
  const region = await client.config.region().catch(() => null);
  const target = { aws, kinesisEndpoint, stream, region };
  const text = putFailureText(error, target, done);
  const from = `To go on: add --from-line ${run.goOnFrom}. The last request may have been stored; with dedupe its records count once.`;
  return new Error(acknowledgedCount === 0 ? text : `${text}\n  ${from}`, { cause: error });
}

/** On a terminal, a line that says how far it is. Returns what ends that. */
function showProgress(producer: RecordProducer): () => void {
  if (!process.stderr.isTTY) return () => {};
  const timer = setInterval(() => {
    process.stderr.write(`\r${producer.acknowledgedCount.toLocaleString('en-US')} records`);
  }, PROGRESS_MS);
  return () => {
    clearInterval(timer);
    process.stderr.write('\r\u001b[K');
  };
}
