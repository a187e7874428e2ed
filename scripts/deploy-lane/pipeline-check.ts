/**
 * What a deployed pipeline must do: every record counted once, from every producer; HEADs and quarantine as they should be; a
 * checkpoint and a redrive when asked; and a changed plan, deployed, under which the old views go on and a new one begins.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { KinesisClient, PutRecordCommand, PutRecordsCommand } from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { PipelineStatus } from '../../core/query/status.ts';
import type { ViewAnswer } from '../../core/query/view-answer.ts';
import { EMULATOR_CREDENTIALS, EMULATOR_PYTHON, EMULATOR_REGION } from '../aws-emulator.ts';
import type { Outputs } from './cdk-run.ts';
import { callFunctionUrl } from './function-url.ts';
import { laneEnvironment } from './lane-environment.ts';
import { readHeads } from './stored-state.ts';

export interface DeployedPipeline {
  readonly endpoint: string;
  readonly outputs: Outputs;
  /** Deploys another pipeline file of the same pipeline. */
  readonly redeploy: (pipelineFile: string) => Promise<Outputs>;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FLIGHTS = join(ROOT, 'examples/flights/tidemark.config.ts');
const SAMPLE = join(ROOT, 'examples/flights/sample.ndjson');
const CHANGED = join(ROOT, '.tmp/changed-pipeline.json');
const SDK_COUNT = 900;
const REACH_MS_MAX = 60_000;

export async function checkPipeline(pipeline: DeployedPipeline): Promise<void> {
  const check = new PipelineCheck(pipeline);
  await check.records();
  await check.heads();
  await check.quarantine();
  await check.changedPlan();
}

class PipelineCheck {
  readonly #pipeline: DeployedPipeline;
  readonly #kinesis: KinesisClient;
  #rows: readonly string[] = [];

  constructor(pipeline: DeployedPipeline) {
    this.#pipeline = pipeline;
    this.#kinesis = new KinesisClient({
      endpoint: pipeline.endpoint,
      region: EMULATOR_REGION,
      credentials: EMULATOR_CREDENTIALS,
      // Over HTTP/2 the emulator closes its session now and then.
      requestHandler: new NodeHttpHandler(),
    });
  }

  /** The sample, most of it by the SDK and the rest by boto3; then some of it again, which counts as duplicates. */
  async records(): Promise<void> {
    const text = await readFile(SAMPLE, 'utf8');
    this.#rows = text.trimEnd().split('\n');
    for (let from = 0; from < SDK_COUNT; from += 300) {
      await this.#put(this.#rows.slice(from, from + 300));
    }
    await this.#putByBoto3(this.#rows.slice(SDK_COUNT));
    await this.#put(this.#rows.slice(0, 100));
    await this.#untilStatus(({ records }) => records.folded + records.duplicates === 1_100);
    const { records } = await this.#status();
    assert.deepEqual([records.folded, records.duplicates], [this.#rows.length, 100]);
    assert.deepEqual(await this.#flightsByOrigin('delay_by_origin'), recount(this.#rows));
    console.log(`counted: ${records.folded} records once, ${records.duplicates} duplicates`);
  }

  /** HEAD in DynamoDB says what the status says. */
  async heads(): Promise<void> {
    const { slices } = await this.#status();
    const heads = await readHeads(this.#pipeline.endpoint);
    assert.deepEqual(
      heads.map(({ sliceId, epoch, cursor }) => [sliceId, epoch, cursor.sequenceNumber]),
      slices.map(({ id, epoch, cursor }) => [id, epoch, cursor]),
    );
    const before = new Map(heads.map(({ sliceId, epoch }) => [sliceId, epoch]));
    const answer = await this.#admin<Checkpointed>('/v1/checkpoint', {});
    assert.equal(answer.slices.length, slices.length);
    for (const { id, epoch } of answer.slices) assert.ok(epoch > (before.get(id) ?? 0), id);
  }

  async quarantine(): Promise<void> {
    const put = {
      StreamName: this.#streamName,
      PartitionKey: 'LAX',
      Data: Buffer.from('no flight'),
    };
    await this.#kinesis.send(new PutRecordCommand(put));
    await this.#untilStatus(({ records }) => records.quarantined === 1);
    const seen = await this.#query<Quarantined>('/v1/quarantine');
    assert.deepEqual(
      seen.records.map(({ reason, data }) => [reason, data]),
      [['not-json', undefined]],
    );
    const listed = await this.#admin<Quarantined>('/v1/quarantine');
    assert.deepEqual(
      listed.records.map(({ reason, data }) => [
        reason,
        Buffer.from(data ?? '', 'base64').toString(),
      ]),
      [['not-json', 'no flight']],
    );
    const redriven = await this.#admin<Redriven>('/v1/quarantine/redrive', { reason: 'not-json' });
    assert.deepEqual([redriven.redriven, redriven.refused.length], [[], 1]);
    console.log(
      'quarantined: listed to readers without its data and to admins whole, and refused again when redriven, as it is still no flight',
    );
  }

  /** A view more: the stack activates the plan, the old views go on, the new one counts what comes from here on. */
  async changedPlan(): Promise<void> {
    const { plan } = await this.#status();
    await writeFile(CHANGED, JSON.stringify(await changedPipeline()));
    await this.#pipeline.redeploy(CHANGED);
    const extra = this.#rows
      .slice(0, 10)
      .map((row, index) => JSON.stringify({ ...JSON.parse(row), id: `new ${index}` }));
    await this.#put(extra);
    await this.#untilStatus(({ records }) => records.folded === this.#rows.length + extra.length);
    const changed = (await this.#status()).plan;
    assert.equal(changed.ordinal, plan.ordinal + 1);
    assert.notEqual(changed.hash, plan.hash);
    assert.deepEqual(
      await this.#flightsByOrigin('delay_by_origin'),
      recount([...this.#rows, ...extra]),
    );
    assert.deepEqual(await this.#flightsByOrigin('by_origin_anew'), recount(extra));
    console.log('changed: the plan is active, its new view began here, the others went on');
  }

  get #streamName(): string {
    return this.#output('StreamName');
  }

  #output(name: string): string {
    const found = Object.entries(this.#pipeline.outputs).find(([key]) => key.endsWith(name));
    if (found === undefined) throw new Error(`the stack has no output ${name}`);
    return found[1];
  }

  async #put(rows: readonly string[]): Promise<void> {
    const Records = rows.map((row) => ({
      PartitionKey: originOf(row),
      Data: Buffer.from(row),
    }));
    const put = new PutRecordsCommand({ StreamName: this.#streamName, Records });
    assert.equal((await this.#kinesis.send(put)).FailedRecordCount ?? 0, 0);
  }

  async #putByBoto3(rows: readonly string[]): Promise<void> {
    const script = [
      'import boto3, json, sys',
      'kinesis = boto3.client("kinesis")',
      'for row in json.loads(sys.argv[2]):',
      '    kinesis.put_record(StreamName=sys.argv[1], PartitionKey=json.loads(row)["origin"], Data=row)',
    ].join('\n');
    await promisify(execFile)(
      EMULATOR_PYTHON,
      ['-c', script, this.#streamName, JSON.stringify(rows)],
      { env: laneEnvironment(this.#pipeline.endpoint) },
    ).catch(({ stderr }: { stderr?: string }) => {
      throw new Error(`boto3 could not put records: ${stderr?.trim().split('\n').at(-1)}`);
    });
  }

  #status(): Promise<PipelineStatus> {
    return this.#query('/v1/status');
  }

  async #untilStatus(isReached: (status: PipelineStatus) => boolean): Promise<void> {
    const endMs = performance.now() + REACH_MS_MAX;
    for (;;) {
      const status = await this.#status();
      if (isReached(status)) return;
      if (performance.now() > endMs) {
        throw new Error(
          `the records are not in after ${REACH_MS_MAX} ms: ${JSON.stringify(status)}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  /** Flights of each origin, over all windows and pages of a view. */
  async #flightsByOrigin(view: string): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (let next: string | null = ''; next !== null; ) {
      const page: string = next === '' ? '' : `&next=${encodeURIComponent(next)}`;
      const answer: ViewAnswer = await this.#query(`/v1/views/${view}?limit=1000${page}`);
      for (const { key, values } of answer.rows) {
        const origin = String(key['origin']);
        counts[origin] = (counts[origin] ?? 0) + Number(values['flights']);
      }
      next = answer.next;
    }
    return counts;
  }

  #query<T>(path: string): Promise<T> {
    return callFunctionUrl(this.#pipeline.endpoint, this.#output('QueryUrl'), path);
  }

  #admin<T>(path: string, body?: object): Promise<T> {
    return callFunctionUrl(this.#pipeline.endpoint, this.#output('AdminUrl'), path, body);
  }
}

interface Checkpointed {
  readonly slices: readonly { readonly id: string; readonly epoch: number }[];
}

interface Quarantined {
  readonly records: readonly { readonly reason: string; readonly data?: string }[];
}

interface Redriven {
  readonly redriven: readonly string[];
  readonly refused: readonly unknown[];
}

function originOf(row: string): string {
  return (JSON.parse(row) as { origin: string }).origin;
}

/** From the rows alone. */
function recount(rows: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const row of rows) counts[originOf(row)] = (counts[originOf(row)] ?? 0) + 1;
  return counts;
}

/** The example with one view more. */
async function changedPipeline(): Promise<object> {
  const bin = join(ROOT, 'cli/bin.js');
  const { stdout } = await promisify(execFile)(process.execPath, [
    bin,
    'check',
    '--json',
    '--pipeline',
    FLIGHTS,
  ]);
  const { hash: _, ...pipeline } = JSON.parse(stdout);
  const view = { groupBy: ['origin'], aggregates: { flights: { count: '*' } } };
  return { ...pipeline, views: { ...pipeline.views, by_origin_anew: view } };
}
