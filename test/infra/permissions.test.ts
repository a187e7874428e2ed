import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Duration } from 'aws-cdk-lib';
import { AccountPrincipal, Role } from 'aws-cdk-lib/aws-iam';
import { Stream } from 'aws-cdk-lib/aws-kinesis';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { afterAll, describe, expect, it } from 'vitest';
import { FUNCTION_NAMES, type FunctionName } from '../../functions/deployment-contract.ts';
import { PERMISSIONS } from '../../infra/permissions.ts';
import { makeApp, ORDERS_WITH_IDLE } from './pipeline-app.ts';
import { type Call, listOf, PolicySimulation, textOf } from './policy-simulation.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const KEY = 'arn:aws:kms:eu-west-1:111122223333:key/';
const STREAM = 'arn:aws:kinesis:eu-west-1:111122223333:stream/given';
const OTHER_STREAM = 'arn:aws:kinesis:eu-west-1:111122223333:stream/other';
const BUCKET = 'arn:aws:s3:::theirs';
const OBJECT = `${BUCKET}/tidemark/prod/orders/base/1`;
const QUARANTINE_OBJECT = `${BUCKET}/tidemark/prod/orders/quarantine/0f1e`;

const folder = mkdtempSync(join(tmpdir(), 'tidemark-permissions-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Everything given, so that every resource has an ARN of its own, and both keys are granted; nothing is emptied. */
const { template } = makeApp({
  folder,
  pipeline: ORDERS_WITH_IDLE,
  props: (scope) => ({
    stream: Stream.fromStreamArn(scope, 'Given', STREAM),
    streamKey: Key.fromKeyArn(scope, 'StreamKey', `${KEY}stream`),
    bucket: Bucket.fromBucketAttributes(scope, 'Theirs', {
      bucketArn: BUCKET,
      encryptionKey: Key.fromKeyArn(scope, 'BucketKey', `${KEY}bucket`),
    }),
    start: 'TRIM_HORIZON',
    retention: Duration.days(7),
  }),
  change: (pipeline, scope) => {
    const role = (id: string) =>
      new Role(scope, id, { assumedBy: new AccountPrincipal('111122223333') });
    pipeline.grantPut(role('Producer'));
    pipeline.grantRead(role('Reader'));
    pipeline.grantAdmin(role('Operator'));
  },
});
const rendered = template();
const simulation = new PolicySimulation(rendered);

const idOf = (type: string, prefix: string): string => {
  const id = Object.keys(rendered.findResources(type)).find((each) => each.startsWith(prefix));
  if (id === undefined) throw new Error(`no ${type} ${prefix}`);
  return id;
};
const TABLE = `<${idOf('AWS::DynamoDB::Table', 'OrdersTable')}.Arn>`;
const QUEUE = `<${idOf('AWS::SQS::Queue', 'OrdersOnFailure')}.Arn>`;
const functionArn = (name: string) =>
  `<${idOf('AWS::Lambda::Function', `OrdersFunctions${name}Function`)}.Arn>`;
const logsOf = (name: string) =>
  `<${idOf('AWS::Logs::LogGroup', `OrdersFunctions${name}Logs`)}.Arn>`;
const titled = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

const calls = (resource: string, ...actions: string[]): Call[] =>
  actions.map((action) => ({ action, resource }));

const TABLE_READS = calls(TABLE, 'dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:BatchGetItem');
const TABLE_WRITES = calls(
  TABLE,
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:BatchWriteItem',
);
const puts = (...leadingKeys: string[]): Call[] =>
  leadingKeys.map((leadingKey) => ({ action: 'dynamodb:PutItem', resource: TABLE, leadingKey }));
const HEADS_AND_BLOBS = ['head#slice-1', 'blob#slice-1#0', 'slices'];
const deletes = (leadingKey: string): Call => {
  return { action: 'dynamodb:DeleteItem', resource: TABLE, leadingKey };
};
const TABLE_REMOVALS = calls(
  TABLE,
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:BatchWriteItem',
);
const OBJECT_READS = [
  ...calls(OBJECT, 's3:GetObject'),
  ...calls(BUCKET, 's3:ListBucket'),
  ...calls(`${KEY}bucket`, 'kms:Decrypt'),
];
const OBJECT_WRITES = calls(OBJECT, 's3:PutObject', 's3:DeleteObject', 's3:AbortMultipartUpload');
const STREAM_READS = [
  ...calls(
    STREAM,
    'kinesis:DescribeStreamSummary',
    'kinesis:GetRecords',
    'kinesis:GetShardIterator',
    'kinesis:ListShards',
  ),
  ...calls(`${KEY}stream`, 'kms:Decrypt'),
];
const STREAM_WRITES = calls(STREAM, 'kinesis:PutRecord', 'kinesis:PutRecords');
const INVOKE_AGGREGATE = calls(functionArn('Aggregate'), 'lambda:InvokeFunction');
const ALWAYS_DENIED = [
  ...calls(TABLE, 'dynamodb:DeleteTable', 'dynamodb:Scan', 'dynamodb:UpdateTable'),
  ...calls('arn:aws:dynamodb:eu-west-1:111122223333:table/other', 'dynamodb:GetItem'),
  ...calls(`${BUCKET}/tidemark/prod/others/base/1`, 's3:GetObject', 's3:PutObject'),
  ...calls(`${BUCKET}/elsewhere`, 's3:GetObject', 's3:DeleteObject'),
  ...calls(OBJECT, 's3:DeleteObjectVersion', 's3:PutObjectAcl'),
  ...calls(BUCKET, 's3:DeleteBucket', 's3:PutBucketPolicy', 's3:PutLifecycleConfiguration'),
  ...calls(STREAM, 'kinesis:DeleteStream', 'kinesis:SplitShard', 'kinesis:SubscribeToShard'),
  ...calls(OTHER_STREAM, 'kinesis:GetRecords', 'kinesis:PutRecords'),
  ...calls(functionArn('Admin'), 'lambda:InvokeFunction'),
  ...calls(functionArn('Aggregate'), 'lambda:UpdateFunctionCode'),
  ...calls(`${KEY}other`, 'kms:Decrypt'),
  ...calls('*', 'iam:PassRole', 'sts:AssumeRole', 'lambda:DeleteEventSourceMapping'),
];

const MAY: Record<FunctionName, { allowed: Call[]; denied: Call[] }> = {
  aggregate: {
    allowed: [
      ...TABLE_READS,
      ...TABLE_WRITES,
      ...OBJECT_READS,
      ...OBJECT_WRITES,
      ...STREAM_READS,
      ...calls(`${KEY}bucket`, 'kms:GenerateDataKey'),
      // What Lambda checks of the role when it makes the mapping.
      ...calls(STREAM, 'kinesis:DescribeStream'),
      ...calls(QUEUE, 'sqs:SendMessage'),
    ],
    denied: [
      ...STREAM_WRITES,
      ...INVOKE_AGGREGATE,
      ...calls(QUEUE, 'sqs:ReceiveMessage', 'sqs:PurgeQueue'),
      ...calls(`${KEY}stream`, 'kms:GenerateDataKey'),
    ],
  },
  query: {
    allowed: [...TABLE_READS, ...OBJECT_READS, ...STREAM_READS],
    denied: [
      ...TABLE_WRITES,
      ...OBJECT_WRITES,
      ...STREAM_WRITES,
      ...INVOKE_AGGREGATE,
      ...calls(`${KEY}bucket`, 'kms:GenerateDataKey'),
    ],
  },
  admin: {
    allowed: [
      ...TABLE_READS,
      ...puts('plan', 'inbox#slice-1', 'quarantine#slice-1'),
      deletes('quarantine#slice-1'),
      ...calls(QUARANTINE_OBJECT, 's3:PutObject', 's3:DeleteObject'),
      ...calls(`${KEY}bucket`, 'kms:GenerateDataKey'),
      ...OBJECT_READS,
      ...STREAM_READS,
      ...INVOKE_AGGREGATE,
    ],
    denied: [
      ...TABLE_REMOVALS,
      ...HEADS_AND_BLOBS.map(deletes),
      deletes('inbox#slice-1'),
      ...puts(...HEADS_AND_BLOBS, 'plans', 'age#slice-1', 'tip#shardId-1', 'suspicion#slice-1'),
      ...OBJECT_WRITES,
      ...STREAM_WRITES,
      ...calls(QUEUE, 'sqs:SendMessage'),
    ],
  },
  tick: {
    allowed: [
      ...TABLE_READS,
      ...puts('age#slice-1', 'tip#shardId-1'),
      ...STREAM_READS,
      ...INVOKE_AGGREGATE,
    ],
    denied: [
      ...TABLE_REMOVALS,
      ...puts(
        ...HEADS_AND_BLOBS,
        'quarantine#slice-1',
        'plan',
        'inbox#slice-1',
        'suspicion#slice-1',
      ),
      ...OBJECT_READS,
      ...OBJECT_WRITES,
      ...STREAM_WRITES,
      ...calls(QUEUE, 'sqs:SendMessage'),
    ],
  },
  heartbeat: {
    allowed: [
      ...calls(STREAM, 'kinesis:ListShards', 'kinesis:PutRecords'),
      ...calls(`${KEY}stream`, 'kms:GenerateDataKey'),
    ],
    denied: [
      ...TABLE_READS,
      ...TABLE_WRITES,
      ...OBJECT_READS,
      ...OBJECT_WRITES,
      ...INVOKE_AGGREGATE,
      ...calls(STREAM, 'kinesis:GetRecords', 'kinesis:PutRecord'),
      ...calls(`${KEY}stream`, 'kms:Decrypt'),
    ],
  },
};

describe.each(FUNCTION_NAMES)('the role of %s', (name) => {
  const role = `OrdersFunctions${titled(name)}Role`;

  it('may do all that the function does', () => {
    const own = calls(logsOf(titled(name)), 'logs:CreateLogStream', 'logs:PutLogEvents');

    const refused = [...MAY[name].allowed, ...own].filter(
      (call) => !simulation.isAllowed(role, call),
    );
    expect(refused).toEqual([]);
  });

  it('may do nothing else', () => {
    const others = FUNCTION_NAMES.filter((other) => other !== name).flatMap((other) =>
      calls(logsOf(titled(other)), 'logs:PutLogEvents'),
    );

    const allowed = [...MAY[name].denied, ...ALWAYS_DENIED, ...others].filter((call) =>
      simulation.isAllowed(role, call),
    );
    expect(allowed).toEqual([]);
  });

  it('has exactly the actions of the table', () => {
    const actions = simulation.statements(role).flatMap(({ Action }) => listOf(Action));

    const table = PERMISSIONS[name].filter(({ on }) => on !== 'emptiedObjects');
    expect(actions.sort()).toEqual(table.flatMap(({ actions: all }) => all).sort());
  });
});

describe('what others are granted', () => {
  const may = (role: string, list: Call[]) =>
    list.filter((call) => simulation.isAllowed(role, call)).map(({ action }) => action);

  it('producers put records, and no more', () => {
    const all = [
      ...STREAM_WRITES,
      ...STREAM_READS,
      ...TABLE_READS,
      ...OBJECT_READS,
      ...calls(`${KEY}stream`, 'kms:GenerateDataKey'),
      ...calls(functionArn('Query'), 'lambda:InvokeFunctionUrl'),
    ];

    expect(may('Producer', all)).toEqual([
      'kinesis:PutRecord',
      'kinesis:PutRecords',
      'kms:GenerateDataKey',
    ]);
  });

  it.each([
    ['Reader', 'Query', 'Admin'],
    ['Operator', 'Admin', 'Query'],
  ])('%s calls the URL of %s, not that of %s, and nothing but the URL', (role, mine, other) => {
    expect(may(role, calls(functionArn(mine), 'lambda:InvokeFunctionUrl'))).toHaveLength(1);
    expect(may(role, calls(functionArn(other), 'lambda:InvokeFunctionUrl'))).toEqual([]);
    for (const { Action, Condition } of simulation.statements(role)) {
      expect([Action, Condition]).toEqual(
        Action === 'lambda:InvokeFunctionUrl'
          ? [Action, { StringEquals: { 'lambda:FunctionUrlAuthType': 'AWS_IAM' } }]
          : ['lambda:InvokeFunction', { Bool: { 'lambda:InvokedViaFunctionUrl': true } }],
      );
    }
  });
});

describe('no policy of the template', () => {
  const statements = Object.values(rendered.findResources('AWS::IAM::Policy')).flatMap(
    (policy) => policy['Properties'].PolicyDocument.Statement as Record<string, unknown>[],
  );

  it('allows a wildcard action', () => {
    const actions = statements.flatMap(({ Action }) => listOf(Action));

    expect(actions.length).toBeGreaterThan(40);
    expect(actions.filter((action) => String(action).includes('*'))).toEqual([]);
  });

  it('names a wildcard resource, but for the objects below the prefix, whose names nobody knows before', () => {
    const resources = statements.flatMap(({ Resource }) => listOf(Resource).map(textOf));

    expect(new Set(resources.filter((resource) => resource.includes('*')))).toEqual(
      new Set([`${BUCKET}/tidemark/prod/orders/*`, `${BUCKET}/tidemark/prod/orders/quarantine/*`]),
    );
  });

  it('is managed by AWS, or lies in a role', () => {
    for (const role of Object.values(rendered.findResources('AWS::IAM::Role'))) {
      expect(role['Properties']).not.toHaveProperty('ManagedPolicyArns');
      expect(role['Properties']).not.toHaveProperty('Policies');
    }
  });
});

describe('the calls that the adapters make', () => {
  /** Where an action has another name than its call. */
  const ACTIONS: Record<string, string> = {
    DeleteObjects: 's3:DeleteObject',
    GetObject: 's3:GetObject',
    Invoke: 'lambda:InvokeFunction',
    ListObjectsV2: 's3:ListBucket',
    PutObject: 's3:PutObject',
    AbortMultipartUpload: 's3:AbortMultipartUpload',
    CompleteMultipartUpload: 's3:PutObject',
    CreateMultipartUpload: 's3:PutObject',
    UploadPart: 's3:PutObject',
  };
  /** A listing without a slice, which the core never asks for. */
  const NOT_GRANTED = ['dynamodb:Scan'];

  it('are all granted to some function, and nothing is granted that none makes', () => {
    const made = sourcesOf(join(ROOT, 'adapters/aws')).flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(/new (\w+)Command\(/g)].map(([, call = '']) => {
        const service = path.includes('dynamodb') ? 'dynamodb' : 'kinesis';
        return ACTIONS[call] ?? `${service}:${call}`;
      }),
    );
    const byOthers = new Set([
      ...['logs:CreateLogStream', 'logs:PutLogEvents', 'sqs:SendMessage'],
      ...['kinesis:DescribeStream'],
      ...['kms:Decrypt', 'kms:GenerateDataKey'],
    ]);
    const granted = Object.values(PERMISSIONS).flatMap((all) =>
      all.flatMap(({ actions }) => actions),
    );

    expect([...new Set(granted)].filter((action) => !byOthers.has(action)).sort()).toEqual(
      [...new Set(made)].filter((action) => !NOT_GRANTED.includes(action)).sort(),
    );
  });
});

function sourcesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join(folder, path));
}
