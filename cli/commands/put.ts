import type { KinesisClient } from '@aws-sdk/client-kinesis';
import { Command } from 'commander';
import { PARTITION_KEY_LENGTH_MAX } from '../../core/limits.ts';
import { jsonOption, kinesisEndpointOption, pipelineOption } from '../option-values.ts';
import { loadPipelineFile } from '../pipeline-file.ts';
import { putFailureText } from '../put-failure.ts';
import type { RecordProducer } from '../record-producer.ts';
import { UsageError } from '../usage-error.ts';

interface PutOptions {
  readonly key: string;
  readonly stream?: string;
  readonly pipeline: string;
  readonly kinesisEndpoint: string;
  readonly aws?: boolean;
  readonly region?: string;
  readonly json?: boolean;
}

/** Of records that have no readable value in the key field: they are sent, and the pipeline judges them. */
const NO_KEY = '-';
const PROGRESS_MS = 500;
const FIELDS_SHOWN = 20;

export function putCommand(): Command {
  return new Command('put')
    .description('put the records of a file into the stream')
    .argument('<file>', 'an .ndjson, .csv or .parquet file, or - for NDJSON from stdin')
    .requiredOption('--key <field>', 'the field whose value is the partition key')
    .option('--stream <name>', "the stream (default: the pipeline file's)")
    .addOption(pipelineOption())
    .addOption(kinesisEndpointOption())
    .option('--aws', "find the Kinesis API by AWS's own rules instead")
    .option('--region <name>', 'the AWS region')
    .addOption(jsonOption())
    .action(put);
}

async function put(path: string, options: PutOptions): Promise<void> {
  const stream = options.stream ?? (await loadPipelineFile(options.pipeline)).stream;
  // Loaded here, so that no other command waits for the AWS SDK.
  const [{ kinesisClient }, { recordsOf }, { RecordProducer }] = await Promise.all([
    import('../kinesis-client.ts'),
    import('../record-file.ts'),
    import('../record-producer.ts'),
  ]);
  const client = kinesisClient({
    aws: options.aws ?? false,
    endpoint: options.kinesisEndpoint,
    ...(options.region === undefined ? {} : { region: options.region }),
  });
  const onFailure = async () => false;
  const producer = new RecordProducer({ client, stream, requestsMax: 1, onFailure });
  const encoder = new TextEncoder();
  let withoutKey = 0;
  let keySeen = false;
  try {
    const stopProgress = showProgress(producer);
    try {
      for await (const text of recordsOf(path)) {
        const record = parseObject(text);
        const key = record === null ? null : keyOf(record, options.key);
        // Found out before anything is sent: a typo would put everything into one shard.
        if (key === null && record !== null && !keySeen) refuseKey(record, options.key);
        keySeen ||= key !== null;
        if (key === null) withoutKey++;
        await producer.put(key ?? NO_KEY, encoder.encode(text));
      }
      await producer.flush();
    } finally {
      stopProgress();
    }
  } catch (error) {
    throw await explain(error, producer, client, stream, options);
  } finally {
    client.destroy();
  }
  report(producer, withoutKey, stream, options);
}

type JsonObject = Readonly<Record<string, unknown>>;

function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}

/** The first record that has fields has not this one. */
function refuseKey(record: JsonObject, field: string): void {
  if (Object.hasOwn(record, field)) return;
  const names = Object.keys(record).slice(0, FIELDS_SHOWN).join(', ');
  throw new UsageError(
    `--key ${field}: the first record has no such field; it has ${names === '' ? 'none' : names}`,
  );
}

function keyOf(record: JsonObject, field: string): string | null {
  if (!Object.hasOwn(record, field)) return null;
  const value = record[field];
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    return null;
  const key = String(value).slice(0, PARTITION_KEY_LENGTH_MAX);
  return key === '' ? null : key;
}

function report(
  producer: RecordProducer,
  withoutKey: number,
  stream: string,
  { key, json }: PutOptions,
): void {
  const { acknowledgedCount, acknowledged } = producer;
  const after = [...acknowledged].map(([shardId, sequence]) => `${shardId}:${sequence}`);
  if (json) {
    console.log(JSON.stringify({ put: acknowledgedCount, withoutKey, after }));
    return;
  }
  const noun = acknowledgedCount === 1 ? 'record' : 'records';
  console.log(`put ${acknowledgedCount.toLocaleString('en-US')} ${noun} into ${stream}`);
  if (withoutKey > 0) {
    console.log(
      `${withoutKey} had no readable '${key}' and went under the partition key '${NO_KEY}'`,
    );
  }
  if (after.length > 0) {
    console.log(
      `they are all in an answer to: tidemark query VIEW ${after.map((a) => `--after ${a}`).join(' ')}`,
    );
  }
}

async function explain(
  error: unknown,
  { acknowledgedCount }: RecordProducer,
  client: KinesisClient,
  stream: string,
  { aws = false, kinesisEndpoint }: PutOptions,
): Promise<Error> {
  if (error instanceof UsageError) return error;
  const done = `${acknowledgedCount.toLocaleString('en-US')} records were acknowledged before it`;
  const region = await client.config.region().catch(() => null);
  const target = { aws, kinesisEndpoint, stream, region };
  return new Error(putFailureText(error, target, done), { cause: error });
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
