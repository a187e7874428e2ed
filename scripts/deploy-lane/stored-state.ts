/**
 * What the only pipeline that an emulator holds has stored, past its functions.
 */
import { DynamoDBClient, ListTablesCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { ListBucketsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { type Head, parseHead } from '../../core/checkpoint/head.ts';
import { EMULATOR_CREDENTIALS, EMULATOR_REGION } from '../aws-emulator.ts';

/** Ordered by slice. */
export async function readHeads(endpoint: string): Promise<Head[]> {
  const client = new DynamoDBClient(settingsOf(endpoint));
  const { TableNames = [] } = await client.send(new ListTablesCommand());
  const TableName = TableNames.find((name) => name.startsWith('tidemark-'));
  if (TableName === undefined)
    throw new Error(`no table is a pipeline's: ${TableNames.join(', ')}`);
  const { Items = [] } = await client.send(new ScanCommand({ TableName, ConsistentRead: true }));
  return Items.filter((item) => item['pk']?.S?.startsWith('head#'))
    .map((item) =>
      parseHead({
        sliceId: item['pk']?.S?.slice('head#'.length) ?? '',
        revision: Number(item['rev']?.N),
        delivered: item['delivered']?.S ?? '',
        body: item['body']?.B ?? new Uint8Array(0),
      }),
    )
    .sort((a, b) => (a.sliceId < b.sliceId ? -1 : 1));
}

/** In the pipeline's bucket, up to a thousand. */
export async function countObjects(endpoint: string): Promise<number> {
  const client = new S3Client({ ...settingsOf(endpoint), forcePathStyle: true });
  const [Bucket] = await bucketsOf(client);
  if (Bucket === undefined) throw new Error('the emulator has no bucket of a pipeline');
  const { KeyCount = 0 } = await client.send(new ListObjectsV2Command({ Bucket }));
  return KeyCount;
}

/** Throws if a table or a bucket of a pipeline is left. */
export async function assertNothingIsLeft(endpoint: string): Promise<void> {
  const left = [
    ...(await tablesOf(new DynamoDBClient(settingsOf(endpoint)))),
    ...(await bucketsOf(new S3Client({ ...settingsOf(endpoint), forcePathStyle: true }))),
  ];
  if (left.length > 0) throw new Error(`cdk destroy left ${left.join(', ')}`);
}

async function tablesOf(client: DynamoDBClient): Promise<string[]> {
  const { TableNames = [] } = await client.send(new ListTablesCommand());
  return TableNames.filter(isPipelines);
}

async function bucketsOf(client: S3Client): Promise<string[]> {
  const { Buckets = [] } = await client.send(new ListBucketsCommand());
  return Buckets.map(({ Name = '' }) => Name).filter(isPipelines);
}

function isPipelines(name: string): boolean {
  return name.startsWith('tidemark-');
}

function settingsOf(endpoint: string) {
  return { endpoint, region: EMULATOR_REGION, credentials: EMULATOR_CREDENTIALS };
}
