import { randomUUID } from 'node:crypto';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { AwsCalls, CLIENT_SETTINGS } from '../../adapters/aws/aws-calls.ts';
import { DynamoAgeStore } from '../../adapters/aws/dynamodb/dynamo-age-store.ts';
import { DynamoCheckpointStore } from '../../adapters/aws/dynamodb/dynamo-checkpoint-store.ts';
import { DynamoInbox } from '../../adapters/aws/dynamodb/dynamo-inbox.ts';
import { DynamoItemStore } from '../../adapters/aws/dynamodb/dynamo-item-store.ts';
import { DynamoPlanRegistry } from '../../adapters/aws/dynamodb/dynamo-plan-registry.ts';
import { DynamoQuarantineIndex } from '../../adapters/aws/dynamodb/dynamo-quarantine-index.ts';
import { DynamoSuspicionStore } from '../../adapters/aws/dynamodb/dynamo-suspicion-store.ts';
import { DynamoTable } from '../../adapters/aws/dynamodb/dynamo-table.ts';
import { S3ObjectStore } from '../../adapters/aws/s3/s3-object-store.ts';
import { EMULATOR_CREDENTIALS, EMULATOR_REGION } from '../../scripts/aws-emulator.ts';
import { ageStoreContract } from './age-store-contract.ts';
import { blobStoreContract } from './blob-store-contract.ts';
import { checkpointStoreContract } from './checkpoint-store-contract.ts';
import type { World } from './contract.ts';
import { describeOnEmulator } from './emulator.ts';
import { inboxContract } from './inbox-contract.ts';
import { objectStoreContract } from './object-store-contract.ts';
import { PIPELINE_TABLE } from './pipeline-table.ts';
import { planRegistryContract } from './plan-registry-contract.ts';
import { quarantineIndexContract } from './quarantine-index-contract.ts';
import { suspicionStoreContract } from './suspicion-store-contract.ts';

const clock = { nowMs: () => Date.now() };

interface Stores {
  readonly table: DynamoTable;
  readonly objects: S3ObjectStore;
}

await describeOnEmulator('AWS stores on ministack', (endpoint) => {
  const settings = {
    ...CLIENT_SETTINGS,
    endpoint,
    region: EMULATOR_REGION,
    credentials: EMULATOR_CREDENTIALS,
  };

  /** A table and a bucket of its own; they go with the emulator. */
  const worldOf =
    <P>(build: (stores: Stores) => P, keyPrefix = '') =>
    async (): Promise<World<P>> => {
      const name = `world-${randomUUID()}`;
      const clients: { destroy(): void }[] = [];
      const connectClients = () => {
        const dynamo = new DynamoDBClient(settings);
        const s3 = new S3Client({ ...settings, forcePathStyle: true });
        clients.push(dynamo, s3);
        return { dynamo, s3 };
      };
      const disconnect = async () => {
        for (const client of clients.splice(0)) client.destroy();
      };
      const { dynamo, s3 } = connectClients();
      await dynamo.send(new CreateTableCommand({ ...PIPELINE_TABLE, TableName: name }));
      await s3.send(new CreateBucketCommand({ Bucket: name }));
      return {
        connect: async () => {
          const { dynamo, s3 } = connectClients();
          const calls = new AwsCalls({ timeLeftMs: () => 20_000 });
          return build({
            table: new DynamoTable({ client: dynamo, tableName: name, calls }),
            objects: new S3ObjectStore({ client: s3, bucket: name, keyPrefix, calls }),
          });
        },
        disconnect,
        dispose: disconnect,
      };
    };

  checkpointStoreContract({
    name: 'DynamoDB',
    make: worldOf(({ table }) => new DynamoCheckpointStore(table)),
  });

  blobStoreContract({
    name: 'DynamoDB',
    make: worldOf(({ table }) => new DynamoItemStore(table, clock)),
    skip: [
      {
        test: 'a blob of 8 MiB is read whole and in parts',
        reason: 'an item of DynamoDB holds 400 KB; the core keeps blobs above 8 KB as objects',
      },
      {
        test: 'the longest key is as good as any',
        reason: 'a sort key of DynamoDB holds 1,024 bytes; the keys of the core have far fewer',
      },
    ],
  });

  objectStoreContract({ name: 'S3', make: worldOf(({ objects }) => objects) });

  objectStoreContract({
    name: 'S3 under a prefix',
    make: worldOf(({ objects }) => objects, 'pipelines/flights/'),
  });

  quarantineIndexContract({
    name: 'DynamoDB and S3',
    make: worldOf(({ table, objects }) => new DynamoQuarantineIndex(table, objects)),
  });

  inboxContract({ name: 'DynamoDB', make: worldOf(({ table }) => new DynamoInbox(table)) });

  planRegistryContract({
    name: 'DynamoDB',
    make: worldOf(({ table }) => new DynamoPlanRegistry(table)),
  });

  ageStoreContract({ name: 'DynamoDB', make: worldOf(({ table }) => new DynamoAgeStore(table)) });

  suspicionStoreContract({
    name: 'DynamoDB',
    make: worldOf(({ table }) => new DynamoSuspicionStore(table)),
  });
});
