import { App, Aspects, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Table } from 'aws-cdk-lib/aws-dynamodb';
import { AccountPrincipal, CfnPolicy, Role } from 'aws-cdk-lib/aws-iam';
import {
  type CfnStream,
  type IStream,
  Stream,
  StreamEncryption,
  StreamMode,
} from 'aws-cdk-lib/aws-kinesis';
import { Key } from 'aws-cdk-lib/aws-kms';
import { CfnEventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { Bucket, type CfnBucket, type IBucket } from 'aws-cdk-lib/aws-s3';
import { describe, expect, it } from 'vitest';
import { guardMapping } from '../../infra/guards/mapping-guard.ts';
import { guardPermissions, type Statement } from '../../infra/guards/permission-guard.ts';
import { guardProducer } from '../../infra/guards/producer-guard.ts';
import { refusalText } from '../../infra/guards/refusal.ts';
import { RETENTION_HOURS_MIN } from '../../infra/guards/retention-guard.ts';
import { leadingKeysCondition } from '../../infra/permissions.ts';
import type { TidemarkPipelineProps } from '../../infra/pipeline-props.ts';
import { TidemarkPipeline } from '../../infra/tidemark-pipeline.ts';
import { lockText, makeApp, newFolder, ORDERS, refusalOf } from './pipeline-app.ts';

type Props = Omit<TidemarkPipelineProps, 'pipeline'>;

const given = (stack: Stack): IStream =>
  Stream.fromStreamArn(stack, 'Given', 'arn:aws:kinesis:eu-west-1:111122223333:stream/given');
const WELL_GIVEN: Props = { start: 'TRIM_HORIZON', retention: Duration.days(7) };

/** What is refused when the construct is made: the props, and pieces of what must be said. */
const REFUSED: [string, (stack: Stack) => Props, string[]][] = [
  [
    'an existing stream without a start',
    (stack) => ({ stream: given(stack), retention: Duration.days(7) }),
    [
      'an existing stream is given, which may hold history',
      '`start` beside `stream`',
      "start: 'TRIM_HORIZON' takes",
    ],
  ],
  [
    'a start that no synth will say again',
    () => ({ start: new Date(1_769_860_800_123) }),
    [
      'start is 2026-01-31T12:00:00.123Z, not a whole second',
      'the same at every synth',
      'write the time out',
    ],
  ],
  [
    'a start that is no time',
    () => ({ start: new Date('soon') }),
    ['start is a Date that is no time', "'TRIM_HORIZON' or a Date"],
  ],
  [
    'a start at LATEST',
    () => ({ start: 'LATEST' as 'TRIM_HORIZON' }),
    ['start is LATEST', 'never LATEST', "give start: 'TRIM_HORIZON', or a time"],
  ],
  [
    'retention shorter than the longest replay',
    () => ({ retention: Duration.hours(RETENTION_HOURS_MIN - 1) }),
    ['the stream keeps records for 30 hours', 'from 31 (', 'raise the retention'],
  ],
  [
    'retention that is no whole number of hours',
    () => ({ retention: Duration.minutes(31 * 60 + 30) }),
    ['the stream keeps records for 31.5 hours', 'whole hours'],
  ],
  ...(
    [
      ['aggregateTimeout', Duration.seconds(59), '59 seconds', 'from 60 to 900: an invocation'],
      ['aggregateTimeout', Duration.minutes(16), '960 seconds', 'ends it after 15 minutes'],
      ['aggregateTimeout', Duration.millis(60_500), '60.5 seconds', 'a whole number'],
      ['batchWindow', Duration.seconds(301), '301 seconds', 'from 0 to 300: Lambda gathers'],
      ['batchWindow', Duration.millis(500), '0.5 seconds', 'a whole number'],
      ['aggregateMemoryMiB', 255, '255 MiB', 'from 256 to 10240: Node, the code'],
      ['aggregateMemoryMiB', 10_241, '10241 MiB', 'Lambda has no more'],
      ['aggregateMemoryMiB', 1769.5, '1769.5 MiB', 'a whole number'],
      ['shardCount', 0, '0 shards', 'from 1 to 20000'],
    ] as const
  ).map(([name, value, found, expected]): (typeof REFUSED)[number] => [
    `${name} of ${found}`,
    () => ({ [name]: value }),
    [`${name} is ${found}`, expected, 'or leave it out'],
  ]),
  [
    'a removal policy that no store knows',
    () => ({ removalPolicy: RemovalPolicy.SNAPSHOT }),
    ['removalPolicy is SNAPSHOT', 'RETAIN_ON_UPDATE_OR_DELETE', 'point-in-time recovery'],
  ],
  [
    'retention longer than Kinesis keeps anything',
    () => ({ retention: Duration.days(366) }),
    ['the stream keeps records for 8784 hours', 'to 8760 (Kinesis)'],
  ],
  [
    'an imported stream without its retention',
    (stack) => ({ stream: given(stack), start: 'TRIM_HORIZON' }),
    ['not how long it keeps records', '`retention` beside `stream`', 'describe-stream-summary'],
  ],
  [
    'a stream of this app that keeps records for a day',
    (stack) => ({ stream: new Stream(stack, 'Short'), start: 'TRIM_HORIZON' }),
    ['the stream keeps records for 24 hours', 'raise the retention'],
  ],
  [
    'a retention that the stream itself contradicts',
    (stack) => ({
      ...WELL_GIVEN,
      stream: new Stream(stack, 'Short', { retentionPeriod: Duration.days(2) }),
    }),
    ['retention is 168 hours, the given stream keeps records for 48', 'leave retention out'],
  ],
  [
    'a batch over the payload of an invocation',
    () => ({ batchSize: 5_000, recordBytes: 1_000 }),
    [
      '5000 records of 1000 bytes are 6666667 bytes in base64',
      'at most 6291456',
      'batchSize: 4718 or less',
    ],
  ],
  [
    'a batch size that Lambda does not know',
    () => ({ batchSize: 10_001 }),
    ['batchSize is 10001', 'from 1 to 10000', 'leave it out'],
  ],
  ['records of no size', () => ({ recordBytes: 0 }), ['recordBytes is 0', 'or leave it out']],
  [
    'records of which none fits',
    () => ({ recordBytes: 5_000_000 }),
    ['recordBytes is 5000000', 'at least one fits'],
  ],
  [
    'reserved concurrency without room for ticks',
    () => ({ shardCount: 4, reservedConcurrency: 8 }),
    ['reservedConcurrency is 8', 'at least 9: for each of 4 shards one', 'give 9 or more'],
  ],
  [
    'reserved concurrency for nobody knows how many shards',
    () => ({ streamMode: StreamMode.ON_DEMAND, reservedConcurrency: 100 }),
    ['reservedConcurrency is 100', '`shardCount` beside it', 'or leave reservedConcurrency out'],
  ],
  [
    'a stage that is no name',
    () => ({ stage: 'pre prod' }),
    ["stage is 'pre prod'", 'letters, digits and -'],
  ],
  [
    'a key prefix that is a wildcard in policies',
    () => ({ keyPrefix: 'team/*/' }),
    ["keyPrefix is 'team/*/'", 'give such a prefix, or none'],
  ],
];

describe('props are refused, and the message says what to do:', () => {
  it.each(REFUSED)('%s', (_, props, pieces) => {
    const folder = newFolder();
    const message = refusalOf({ props, folder });

    expect(message).toContain('[Shop/Orders]');
    for (const piece of [...pieces, 'expected  ', 'to do     ']) expect(message).toContain(piece);
    expect(lockText(folder)).toBeNull();
  });

  it('all that is wrong at once', () => {
    const message = refusalOf({ props: () => ({ retention: Duration.hours(24), batchSize: 0 }) });

    expect(message).toContain('keeps records for 24 hours');
    expect(message).toContain('batchSize is 0');
  });

  it.each<[string, (stack: Stack) => Props]>([
    [
      'reserved concurrency with just enough room',
      () => ({ shardCount: 4, reservedConcurrency: 9 }),
    ],
    [
      'the least of everything',
      () => ({
        aggregateTimeout: Duration.minutes(1),
        aggregateMemoryMiB: 256,
        batchWindow: Duration.seconds(0),
      }),
    ],
    [
      'the most of everything',
      () => ({
        aggregateTimeout: Duration.minutes(15),
        aggregateMemoryMiB: 10_240,
        batchWindow: Duration.minutes(5),
      }),
    ],
    ['the shortest retention', () => ({ retention: Duration.hours(RETENTION_HOURS_MIN) })],
    ['a batch that just fits', () => ({ batchSize: 4_718, recordBytes: 1_000 })],
    [
      'an imported stream with everything said',
      (stack) => ({ ...WELL_GIVEN, stream: given(stack) }),
    ],
    [
      'a stream of this app, which says its retention itself',
      (stack) => ({
        stream: new Stream(stack, 'Long', { retentionPeriod: Duration.days(3) }),
        start: 'TRIM_HORIZON',
      }),
    ],
  ])('but not %s', (_, props) => {
    expect(() => makeApp({ props })).not.toThrow();
  });
});

const mappingOf = (pipeline: TidemarkPipeline): CfnEventSourceMapping => {
  const mapping = pipeline.node.findAll().find((node) => node instanceof CfnEventSourceMapping);
  if (mapping === undefined) throw new Error('the pipeline has no mapping');
  return mapping;
};

/** An override of the mapping, and pieces of what must be said. */
const MAPPING_REFUSED: [string, unknown, string[]][] = [
  [
    'ParallelizationFactor',
    2,
    ['is 2', 'expected  1', 'deploy a second pipeline on a stream with more shards'],
  ],
  ['MaximumRetryAttempts', 3, ['is 3', 'expected  -1', 'take the override away']],
  ['MaximumRecordAgeInSeconds', 3600, ['is 3600', 'expected  -1', 'retention is the limit']],
  ['BisectBatchOnFunctionError', false, ['is false', 'expected  true']],
  ['BisectBatchOnFunctionError', undefined, ['is absent', 'expected  true']],
  ['StartingPosition', 'LATEST', ['is "LATEST"', 'TRIM_HORIZON or AT_TIMESTAMP']],
  ['FilterCriteria', { Filters: [{ Pattern: '{}' }] }, ['expected  none', '`category` or `where`']],
  ['TumblingWindowInSeconds', 60, ['is 60', '`window` in the pipeline file']],
  ['FunctionResponseTypes', ['ReportBatchItemFailures'], ['commits a whole batch or throws']],
  ['Enabled', false, ['is false', 'update-event-source-mapping']],
  ['EventSourceArn', { Ref: 'Other' }, ['is {"Ref":"Other"}', 'expected  "arn:stream"']],
  ['FunctionName', { Ref: 'Other' }, ['expected  {"Ref":"Aggregate"}', 'it alone folds records']],
  ['DestinationConfig', undefined, ['is absent', 'OnFailure watches that queue']],
  ['BatchSize', 9_999, ['is 9999', 'expected  10000', 'give `batchSize`']],
];

describe('a mapping with another setting is refused:', () => {
  const ends = {
    EventSourceArn: 'arn:stream',
    FunctionName: { Ref: 'Aggregate' },
    DestinationConfig: { OnFailure: { Destination: 'arn:queue' } },
    BatchSize: 10_000,
  };
  const right = {
    ...ends,
    StartingPosition: 'TRIM_HORIZON',
    ParallelizationFactor: 1,
    MaximumRetryAttempts: -1,
    MaximumRecordAgeInSeconds: -1,
    BisectBatchOnFunctionError: true,
    Enabled: true,
  };

  it.each(MAPPING_REFUSED)('%s = %j', (name, value, pieces) => {
    const refusals = guardMapping({ ...right, [name]: value }, ends);

    expect(refusals).toHaveLength(1);
    const message = refusals.map(refusalText).join();
    expect(message).toContain(`${name} of the event source mapping`);
    for (const piece of pieces) expect(message).toContain(piece);
  });

  it('but not with the right ones', () => {
    expect(guardMapping(right, ends)).toEqual([]);
  });

  it('as rendered, after an escape hatch and an aspect; and nothing is locked', () => {
    const folder = newFolder();
    const message = refusalOf({
      folder,
      change: (pipeline) => {
        mappingOf(pipeline).addPropertyOverride('ParallelizationFactor', 10);
        mappingOf(pipeline).addPropertyDeletionOverride('DestinationConfig');
        mappingOf(pipeline).functionName = 'somebody-elses';
        Aspects.of(pipeline).add({
          visit: (node) => {
            if (node === mappingOf(pipeline)) mappingOf(pipeline).maximumRetryAttempts = 3;
          },
        });
      },
    });

    expect(message).toContain(
      '[Shop/Orders] ParallelizationFactor of the event source mapping is 10',
    );
    expect(message).toContain('MaximumRetryAttempts of the event source mapping is 3');
    expect(message).toContain('DestinationConfig of the event source mapping is absent');
    expect(message).toContain('FunctionName of the event source mapping is "somebody-elses"');
    expect(lockText(folder)).toBeNull();
  });
});

const policyOf = (pipeline: TidemarkPipeline, name: string): CfnPolicy => {
  const found = pipeline.node
    .findAll()
    .find((node) => node instanceof CfnPolicy && node.node.path.includes(`/${name}/`));
  if (!(found instanceof CfnPolicy)) throw new Error(`no policy of ${name}`);
  return found;
};

describe('roles that lack something are refused:', () => {
  it('a statement that was taken away', () => {
    const message = refusalOf({
      change: (pipeline) => {
        policyOf(pipeline, 'Aggregate').addPropertyDeletionOverride('PolicyDocument.Statement.1');
      },
    });

    expect(message).toContain('the role of the aggregate function lacks dynamodb:PutItem on ');
    expect(message).toContain('grant it again');
  });

  it('an action that an aspect takes away', () => {
    const message = refusalOf({
      change: (pipeline) => {
        Aspects.of(pipeline).add({
          visit: (node) => {
            if (node !== policyOf(pipeline, 'Tick')) return;
            (node as CfnPolicy).addPropertyOverride('PolicyDocument.Statement.0.Effect', 'Deny');
          },
        });
      },
    });

    expect(message).not.toContain('aggregate function lacks');
    expect(message).toContain('the role of the tick function lacks logs:PutLogEvents on ');
  });
});

describe('a producer', () => {
  const grantTo = (account: string, key: boolean) => () =>
    guardProducer({
      producerAccount: account,
      pipelineAccount: '111122223333',
      isKeyGiven: key,
    });

  it('of another account is refused where AWS manages the key of the stream', () => {
    const [refusal] = grantTo('444455556666', false)();
    expect(refusal?.found).toContain('a producer of account 444455556666');
    expect(grantTo('444455556666', true)()).toEqual([]);
    expect(grantTo('111122223333', false)()).toEqual([]);
    expect(
      guardProducer({ producerAccount: '1', pipelineAccount: undefined, isKeyGiven: false }),
    ).toEqual([]);
  });

  it('of another account is refused by grantPut', () => {
    const app = new App();
    const stack = new Stack(app, 'S', { env: { account: '111122223333', region: 'eu-west-1' } });
    const pipeline = new TidemarkPipeline(stack, 'Orders', { pipeline: ORDERS, stage: 'dev' });
    expect(() => pipeline.grantPut(new AccountPrincipal('444455556666'))).toThrow(
      /a key of yours: the one that AWS manages admits no other account/,
    );
    pipeline.grantPut(new Role(stack, 'Near', { assumedBy: new AccountPrincipal('111122223333') }));
  });
});

describe('a statement', () => {
  const need = { action: 'dynamodb:PutItem', resource: { 'Fn::GetAtt': ['Table', 'Arn'] } };
  const allow: Statement = { Effect: 'Allow', Action: need.action, Resource: [need.resource] };
  const lacking = (...statements: Statement[]) =>
    guardPermissions({ functionName: 'aggregate', needs: [need], statements }).length;

  it.each<[string, Statement]>([
    ['names action and resource', allow],
    ['names the action in another case', { ...allow, Action: ['DynamoDB:putItem'] }],
    ['names more', { Effect: 'Allow', Action: ['dynamodb:*'], Resource: '*' }],
  ])('grants where it %s', (_, statement) => {
    expect(lacking(statement)).toBe(0);
  });

  it('grants under the one condition that the table asks for, and under no other', () => {
    const condition = leadingKeysCondition(['age#*']);
    const of = (Condition: object) =>
      guardPermissions({
        functionName: 'tick',
        needs: [{ ...need, condition }],
        statements: [{ ...allow, Condition }],
      }).length;

    expect(of(leadingKeysCondition(['age#*']))).toBe(0);
    expect(of(leadingKeysCondition(['age#1']))).toBe(1);
  });

  it.each<[string, Statement]>([
    ['a condition', { ...allow, Condition: { Bool: { 'aws:MultiFactorAuthPresent': 'true' } } }],
    ['NotAction', { Effect: 'Allow', NotAction: 's3:*', Resource: '*' }],
    ['NotResource', { Effect: 'Allow', Action: need.action, NotResource: 'arn:other' }],
    ['another action', { ...allow, Action: 'dynamodb:PutItems' }],
    ['a wildcard elsewhere', { ...allow, Action: 's3:*' }],
    ['another resource', { ...allow, Resource: 'arn:other' }],
  ])('does not grant by %s', (_, statement) => {
    expect(lacking(statement)).toBe(1);
  });

  it.each<[string, Statement, number]>([
    ['by name', { ...allow, Effect: 'Deny' }, 1],
    ['by a wildcard', { Effect: 'Deny', Action: 'dynamodb:*', Resource: '*' }, 1],
    ['that a condition may bring', { ...allow, Effect: 'Deny', Condition: { Null: {} } }, 1],
    ['of all but others', { Effect: 'Deny', NotAction: 's3:*', NotResource: 'arn:other' }, 1],
    ['of all but this', { Effect: 'Deny', NotAction: need.action, Resource: '*' }, 0],
    ['elsewhere', { Effect: 'Deny', Action: '*', NotResource: need.resource }, 0],
  ])('denial %s counts', (_, denial, refused) => {
    expect(lacking(allow, denial)).toBe(refused);
  });

  it('is seen as rendered: a condition that an aspect adds is no grant', () => {
    const message = refusalOf({
      change: (pipeline) => {
        policyOf(pipeline, 'Query').addPropertyOverride('PolicyDocument.Statement.1.Condition', {
          StringEquals: { 'aws:SourceVpc': 'vpc-1' },
        });
      },
    });

    expect(message).toContain('the role of the query function lacks dynamodb:GetItem on ');
    expect(message).toContain('narrows it');
  });
});

describe('keys that are needed and not there are refused:', () => {
  const STREAM_TODO = 'give streamKey, or make the stream with encryptionKey';

  it('a stream of this app with a key that nobody passed on', () => {
    const props = (stack: Stack): Props => ({
      start: 'TRIM_HORIZON',
      stream: cfnStream(stack),
    });

    const message = refusalOf({ props });
    expect(message).toContain('the given stream is encrypted with a key of yours: "alias/shop"');
    expect(message).toContain(STREAM_TODO);
    const key = (stack: Stack) =>
      Key.fromKeyArn(stack, 'Key', 'arn:aws:kms:eu-west-1:111122223333:key/k');
    expect(() =>
      makeApp({ props: (stack) => ({ ...props(stack), streamKey: key(stack) }) }).template(),
    ).not.toThrow();
  });

  it('a bucket of this app with a key that it does not know', () => {
    const message = refusalOf({
      props: (stack) => ({ bucket: bucketWithKey(stack) }),
    });

    expect(message).toContain('the given bucket is encrypted with a key of yours: "alias/shop"');
    expect(message).toContain('make it with encryptionKey');
  });

  it('a table with a key, which no function is granted', () => {
    const message = refusalOf({
      props: (stack) => ({
        table: Table.fromTableAttributes(stack, 'Restored', {
          tableName: 'restored',
          encryptionKey: Key.fromKeyArn(stack, 'Key', 'arn:aws:kms:eu-west-1:111122223333:key/k'),
        }),
      }),
    });

    expect(message).toContain('the given table is encrypted with a key of yours');
    expect(message).toContain('restore it with the default encryption');
  });

  it('but not where the stream knows its key, or AWS manages it', () => {
    const streams: ((stack: Stack) => IStream)[] = [
      (stack) =>
        new Stream(stack, 'Mine', {
          retentionPeriod: Duration.days(2),
          encryption: StreamEncryption.KMS,
          encryptionKey: new Key(stack, 'Key', { removalPolicy: RemovalPolicy.DESTROY }),
        }),
      (stack) =>
        new Stream(stack, 'Mine', {
          retentionPeriod: Duration.days(2),
          encryption: StreamEncryption.MANAGED,
        }),
    ];

    for (const stream of streams) {
      const props = (stack: Stack): Props => ({ start: 'TRIM_HORIZON', stream: stream(stack) });
      expect(() => makeApp({ props }).template()).not.toThrow();
    }
  });
});

/** A stream whose key CDK cannot pass on: set behind its back. */
function cfnStream(stack: Stack): IStream {
  const stream = new Stream(stack, 'Mine', {
    retentionPeriod: Duration.days(2),
    encryption: StreamEncryption.UNENCRYPTED,
  });
  (stream.node.defaultChild as CfnStream).streamEncryption = {
    encryptionType: 'KMS',
    keyId: 'alias/shop',
  };
  return stream;
}

function bucketWithKey(stack: Stack): IBucket {
  const bucket = new Bucket(stack, 'Mine');
  (bucket.node.defaultChild as CfnBucket).bucketEncryption = {
    serverSideEncryptionConfiguration: [
      { serverSideEncryptionByDefault: { sseAlgorithm: 'aws:kms', kmsMasterKeyId: 'alias/shop' } },
    ],
  };
  return bucket as IBucket;
}
