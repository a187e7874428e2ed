/**
 * What an invocation costs in calls, on the AWS adapters: the cost model in bench/cost stands on these counts.
 */
import { randomUUID } from 'node:crypto';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { expect, it } from 'vitest';
import { AwsCalls, CLIENT_SETTINGS } from '../../adapters/aws/aws-calls.ts';
import { DynamoCheckpointStore } from '../../adapters/aws/dynamodb/dynamo-checkpoint-store.ts';
import { DynamoInbox } from '../../adapters/aws/dynamodb/dynamo-inbox.ts';
import { DynamoItemStore } from '../../adapters/aws/dynamodb/dynamo-item-store.ts';
import { DynamoPlanRegistry } from '../../adapters/aws/dynamodb/dynamo-plan-registry.ts';
import { DynamoQuarantineIndex } from '../../adapters/aws/dynamodb/dynamo-quarantine-index.ts';
import { DynamoSuspicionStore } from '../../adapters/aws/dynamodb/dynamo-suspicion-store.ts';
import { DynamoTable } from '../../adapters/aws/dynamodb/dynamo-table.ts';
import { type Item, itemByteLength } from '../../adapters/aws/dynamodb/item-values.ts';
import { S3ObjectStore } from '../../adapters/aws/s3/s3-object-store.ts';
import { MemoryPorts } from '../../adapters/memory/memory-ports.ts';
import { chargesOf, checkpointCalls } from '../../bench/cost/store-calls.ts';
import { Aggregator } from '../../core/aggregator.ts';
import { encodeText } from '../../core/bytes.ts';
import { createJsonDecoder } from '../../core/decode/json-decoder.ts';
import { parsePlan } from '../../core/definition/parse-plan.ts';
import type { Knobs } from '../../core/knobs.ts';
import type { StreamRecord } from '../../core/ports.ts';
import type { TaskPorts } from '../../core/task/slice-task.ts';
import { EMULATOR_CREDENTIALS, EMULATOR_REGION } from '../../scripts/aws-emulator.ts';
import { describeOnEmulator } from './emulator.ts';
import { PIPELINE_TABLE } from './pipeline-table.ts';

const SHARD = 'shardId-000000000000';
const PLENTY = () => 60_000;
const parsed = parsePlan({
  name: 'visits',
  views: { by_page: { groupBy: ['page'], aggregates: { visits: { count: '*' } } } },
});
if (!parsed.ok) throw new Error('the plan is sound');
const { plan } = parsed;

await describeOnEmulator('calls of an invocation', (endpoint) => {
  it('in steady state are a read of HEAD, and two writes of a checkpoint', async () => {
    const world = await pipelineAt(endpoint);
    const owner = world.aggregator();
    await owner.deliver(SHARD, world.records(10), PLENTY);
    world.calls.length = 0;
    await owner.deliver(SHARD, world.records(10), PLENTY);
    expect(world.calls).toEqual(['GetItem head', 'PutItem blob', 'PutItem head']);
  });

  it('are one write to S3 and one of HEAD where the delta is large', async () => {
    const world = await pipelineAt(endpoint);
    const owner = world.aggregator();
    await owner.deliver(SHARD, world.records(10), PLENTY);
    world.calls.length = 0;
    await owner.deliver(SHARD, world.records(2_000), PLENTY);
    expect(world.calls).toEqual(['GetItem head', 'PutObject', 'PutItem head']);
  });

  it.each([1, 10, 60, 200])('are charged as the cost model says: %i records', async (count) => {
    const world = await pipelineAt(endpoint);
    const owner = world.aggregator();
    await owner.deliver(SHARD, world.records(10), PLENTY);
    world.written.length = 0;
    const { savedBytes } = await owner.deliver(SHARD, world.records(count), PLENTY);
    const units = world.written.map((item) => Math.ceil(itemByteLength(item) / 1024));
    const { writeUnits } = chargesOf(checkpointCalls(savedBytes));
    expect(units.reduce((sum, each) => sum + each, 0)).toBe(writeUnits);
  });

  it('are one write where a batch is answered for and not yet saved', async () => {
    const world = await pipelineAt(endpoint, { unsavedAgeMsMax: 3_600_000 });
    const owner = world.aggregator();
    await owner.deliver(SHARD, world.records(10), PLENTY);
    await owner.deliver(SHARD, world.records(10), PLENTY);
    world.calls.length = 0;
    await owner.deliver(SHARD, world.records(10), PLENTY);
    expect(world.calls).toEqual(['GetItem head', 'PutItem head']);
  });

  it('of an owner that was away read HEAD and the deltas that it lacks, and nothing else', async () => {
    const world = await pipelineAt(endpoint);
    const owners = Array.from({ length: 8 }, () => world.aggregator());
    for (const owner of owners) await owner.deliver(SHARD, world.records(3), PLENTY);
    const route = [3, 0, 7, 7, 1, 5, 2, 0, 6, 4, 3, 1];
    const lastTurn = new Map(owners.map((_, index) => [index, index]));
    for (const [step, index] of route.entries()) {
      const turn = owners.length + step;
      const missing = turn - (lastTurn.get(index) as number) - 1;
      lastTurn.set(index, turn);
      world.calls.length = 0;
      await owners[index]?.deliver(SHARD, world.records(3), PLENTY);
      expect(world.calls).toEqual([
        'GetItem head',
        ...Array.from({ length: missing }, () => 'GetItem blob'),
        'PutItem blob',
        'PutItem head',
      ]);
    }
  });
});

async function pipelineAt(endpoint: string, knobs: Partial<Knobs> = {}) {
  const name = `calls-${randomUUID()}`;
  const settings = {
    ...CLIENT_SETTINGS,
    endpoint,
    region: EMULATOR_REGION,
    credentials: EMULATOR_CREDENTIALS,
  };
  const dynamo = new DynamoDBClient(settings);
  const s3 = new S3Client({ ...settings, forcePathStyle: true });
  await dynamo.send(new CreateTableCommand({ ...PIPELINE_TABLE, TableName: name }));
  await s3.send(new CreateBucketCommand({ Bucket: name }));
  const calls: string[] = [];
  const written: Item[] = [];
  for (const client of [dynamo, s3]) record(client, calls, written);
  const awsCalls = new AwsCalls({ timeLeftMs: PLENTY });
  const table = new DynamoTable({ client: dynamo, tableName: name, calls: awsCalls });
  const objects = new S3ObjectStore({ client: s3, bucket: name, keyPrefix: '', calls: awsCalls });
  const memory = new MemoryPorts(1_700_000_000_000, knobs);
  const ports: TaskPorts = {
    heads: new DynamoCheckpointStore(table),
    blobs: { items: new DynamoItemStore(table, memory.clock), objects },
    quarantine: new DynamoQuarantineIndex(table, objects),
    inbox: new DynamoInbox(table),
    plans: new DynamoPlanRegistry(table),
    suspicions: new DynamoSuspicionStore(table),
    source: memory.source,
    shards: memory.shards,
    clock: memory.clock,
    pauses: memory.pauses,
    nonces: memory.nonces,
    knobs: memory.knobs,
  };
  await ports.plans.activate({ ordinal: 1, hash: plan.hash, pipeline: '{}' });
  let sent = 0;
  return {
    calls,
    written,
    aggregator: () => new Aggregator(plan, createJsonDecoder(plan), ports),
    /** The next records of the shard, each of a page of its own. */
    records(count: number): StreamRecord[] {
      return Array.from({ length: count }, () => {
        const sequenceNumber = String(++sent);
        const record = {
          sequenceNumber,
          subSequence: 0,
          partitionKey: 'k',
          arrivalMs: memory.clock.nowMs(),
          data: encodeText(`{"page":"page ${sequenceNumber}"}`),
        };
        memory.source.append(SHARD, record);
        return record;
      });
    },
  };
}

/** Notes each command that a client sends, with the first part of the item's key. */
function record(client: DynamoDBClient | S3Client, calls: string[], written: Item[]): void {
  const send = client.send.bind(client) as (command: Command, ...rest: unknown[]) => unknown;
  const noted = (command: Command, ...rest: unknown[]) => {
    const { Key, Item } = command.input;
    if (Item !== undefined) written.push(Item);
    const pk = (typeof Key === 'object' ? Key : Item)?.['pk']?.S;
    const kind = pk === undefined ? '' : ` ${pk.split('#')[0]}`;
    calls.push(`${command.constructor.name.replace(/Command$/, '')}${kind}`);
    return send(command, ...rest);
  };
  Object.assign(client, { send: noted });
}

interface Command {
  readonly input: { readonly Key?: Item | string; readonly Item?: Item };
}
