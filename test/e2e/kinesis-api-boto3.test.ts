import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startKinesis } from './kinesis-api-fixture.ts';

const hasBoto3 = spawnSync('python3', ['-c', 'import boto3']).status === 0;

/** Takes endpoint and region from the environment, as `tidemark dev` prints them. */
const SCRIPT = `
import boto3, json
k = boto3.client('kinesis')
d = k.describe_stream(StreamName='flights')['StreamDescription']
put = k.put_records(StreamName='flights', Records=[
    {'PartitionKey': 'key-%d' % i, 'Data': b'data-%d' % i} for i in range(500)])
one = k.put_record(StreamARN=d['StreamARN'], PartitionKey='solo', Data=b'\\x00\\xff', ExplicitHashKey='0')
names = k.list_streams()['StreamNames']
read = []
for shard in k.list_shards(StreamName='flights')['Shards']:
    it = k.get_shard_iterator(StreamName='flights', ShardId=shard['ShardId'],
                              ShardIteratorType='TRIM_HORIZON')['ShardIterator']
    page = k.get_records(ShardIterator=it)
    read += [[shard['ShardId'], r['SequenceNumber'], r['PartitionKey'], r['Data'].hex(),
              r['ApproximateArrivalTimestamp'].timestamp()] for r in page['Records']]
errors = []
for call in (lambda: k.put_record(StreamName='other', PartitionKey='k', Data=b''),
             lambda: k.get_records(ShardIterator='AAAA'),
             lambda: k.put_record(StreamName='flights', PartitionKey='k', Data=b'x' * 1048577)):
    try:
        call()
        errors.append(None)
    except k.exceptions.ClientError as e:
        errors.append([e.response['Error']['Code'], type(e).__name__])
print(json.dumps({'names': names, 'failed': put['FailedRecordCount'], 'read': read, 'errors': errors,
                  'put': [[r['ShardId'], r['SequenceNumber']] for r in put['Records'] + [one]]}))
`;

describe('boto3', () => {
  if (!hasBoto3)
    it.skip('is not tried: python3 with boto3 is not installed (pip install boto3)', () => {});
  it.runIf(hasBoto3)('puts, reads and gets the exceptions of Kinesis', async () => {
    const server = await startKinesis({ shardCount: 2 });
    try {
      const { stdout } = await promisify(execFile)('python3', ['-c', SCRIPT], {
        maxBuffer: 10_000_000,
        env: {
          PATH: process.env['PATH'],
          AWS_ENDPOINT_URL_KINESIS: server.url,
          AWS_REGION: 'eu-central-1',
          AWS_DEFAULT_REGION: 'eu-central-1',
          AWS_ACCESS_KEY_ID: 'any',
          AWS_SECRET_ACCESS_KEY: 'any',
          AWS_EC2_METADATA_DISABLED: 'true',
        },
      });
      const result = JSON.parse(stdout);
      expect(result.names).toEqual(['flights']);
      expect(result.failed).toBe(0);
      expect(result.put).toHaveLength(501);
      const place = ([shardId, sequenceNumber]: string[]) => `${shardId} ${sequenceNumber}`;
      expect(result.read.map(place).sort()).toEqual(result.put.map(place).sort());
      const solo = result.read.find((record: string[]) => record[2] === 'solo');
      expect(solo[3]).toBe('00ff');
      expect(Math.abs(solo[4] * 1000 - Date.now())).toBeLessThan(60_000);
      expect(result.errors).toEqual([
        ['ResourceNotFoundException', 'ResourceNotFoundException'],
        ['InvalidArgumentException', 'InvalidArgumentException'],
        ['ValidationException', expect.any(String)],
      ]);
    } finally {
      await server.close();
    }
  });
});
