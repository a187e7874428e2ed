import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration, RemovalPolicy, type Stack } from 'aws-cdk-lib';
import { Annotations, Match, type Template } from 'aws-cdk-lib/assertions';
import { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Stream, StreamMode } from 'aws-cdk-lib/aws-kinesis';
import { Bucket, BucketEncryption, type IBucket } from 'aws-cdk-lib/aws-s3';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { describe, expect, it } from 'vitest';
import { ALARM_METRICS, METRICS, NONCURRENT_KEPT_DAYS } from '../../bench/cost/cost-model.ts';
import { parsePlan } from '../../core/definition/parse-plan.ts';
import {
  METRIC,
  METRIC_NAMESPACE,
  PIPELINE_DIMENSION,
} from '../../functions/deployment-contract.ts';
import { DEATH_TERMS } from '../../infra/death-count.ts';
import { heartbeatMinutes } from '../../infra/schedules.ts';
import { TidemarkPipeline } from '../../infra/tidemark-pipeline.ts';
import { makeApp, newFolder, ORDERS, ORDERS_WITH_IDLE, type SynthOptions } from './pipeline-app.ts';
import { listOf, PolicySimulation, textOf } from './policy-simulation.ts';

type Resource = {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
  readonly DeletionPolicy?: string;
  readonly DependsOn?: readonly string[];
};

let kept: Template | undefined;
/** With every default; made once. */
const prod = (): Template => {
  kept ??= makeApp().template();
  return kept;
};

function resourcesOf(template: Template, type: string): [string, Resource][] {
  return Object.entries(template.findResources(type)) as [string, Resource][];
}

function only(template: Template, type: string): [string, Resource] {
  const [one, ...others] = resourcesOf(template, type);
  if (one === undefined || others.length > 0) {
    throw new Error(`expected one ${type}, found ${others.length + (one === undefined ? 0 : 1)}`);
  }
  return one;
}

describe('the event source mapping', () => {
  it('has every setting of the protocol, and no other', () => {
    const [id, mapping] = only(prod(), 'AWS::Lambda::EventSourceMapping');

    expect(id).toBe('TidemarkOrdersMapping');
    expect(mapping.Properties).toEqual({
      EventSourceArn: { 'Fn::GetAtt': [expect.stringMatching(/^OrdersStream/), 'Arn'] },
      FunctionName: { Ref: expect.stringMatching(/^OrdersFunctionsAggregate/) },
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 10_000,
      MaximumBatchingWindowInSeconds: 5,
      ParallelizationFactor: 1,
      MaximumRetryAttempts: -1,
      MaximumRecordAgeInSeconds: -1,
      BisectBatchOnFunctionError: true,
      DestinationConfig: {
        OnFailure: {
          Destination: { 'Fn::GetAtt': [expect.stringMatching(/^OrdersOnFailure/), 'Arn'] },
        },
      },
      Enabled: true,
    });
  });

  it('begins at a time where one is given, and the functions know the same', () => {
    const template = makeApp({
      props: () => ({ start: new Date('2026-01-31T12:00:00Z') }),
    }).template();

    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      StartingPosition: 'AT_TIMESTAMP',
      StartingPositionTimestamp: 1_769_860_800,
    });
    for (const [, { Properties }] of resourcesOf(template, 'AWS::Lambda::Function')) {
      expect(Properties['Environment']).toMatchObject({
        Variables: { TIDEMARK_START: '2026-01-31T12:00:00.000Z' },
      });
    }
  });

  it('takes as many typical records as fit in an invocation', () => {
    const template = makeApp({
      props: () => ({ recordBytes: 2_000, batchWindow: Duration.seconds(1) }),
    }).template();

    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      BatchSize: 2_359,
      MaximumBatchingWindowInSeconds: 1,
    });
  });

  it('comes after the activation, and that after every function with its role and the stores', () => {
    const template = prod();
    const [activationId, activation] = only(template, 'AWS::CloudFormation::CustomResource');
    const [, mapping] = only(template, 'AWS::Lambda::EventSourceMapping');
    const [, rule] = only(template, 'AWS::Events::Rule');

    expect(mapping.DependsOn).toEqual([activationId]);
    expect(rule.DependsOn).toEqual([activationId]);
    for (const type of [
      'AWS::Lambda::Function',
      'AWS::IAM::Policy',
      'AWS::DynamoDB::Table',
      'AWS::S3::Bucket',
    ]) {
      for (const [id] of resourcesOf(template, type)) expect(activation.DependsOn).toContain(id);
    }
  });
});

describe('the activation', () => {
  it('asks the admin function for exactly the plan that is deployed', () => {
    const [, { Properties: properties }] = only(prod(), 'AWS::CloudFormation::CustomResource');
    const parsed = parsePlan(ORDERS);
    if (!parsed.ok) throw new Error('the fixture is not a pipeline');

    expect(properties).toEqual({
      ServiceToken: { 'Fn::GetAtt': [expect.stringMatching(/^OrdersFunctionsAdmin/), 'Arn'] },
      ServiceTimeout: 960,
      PlanHash: parsed.plan.hash,
      OnDelete: 'keep',
      Table: { Ref: expect.stringMatching(/^OrdersTable/) },
    });
  });

  it.each<[string, SynthOptions['props'] & object, string]>([
    ['a bucket of its own that goes with the stack', () => ({ stage: 'dev' }), 'empty'],
    ['the same by its policy', () => ({ removalPolicy: RemovalPolicy.DESTROY }), 'empty'],
    ['a bucket of its own that is kept', () => ({ removalPolicy: RemovalPolicy.RETAIN }), 'keep'],
    [
      'a given bucket, whatever goes',
      (stack) => ({ stage: 'dev', bucket: Bucket.fromBucketName(stack, 'Theirs', 'theirs') }),
      'keep',
    ],
  ])('empties when it goes, and may do so, exactly where it must: %s', (_, props, onDelete) => {
    const template = makeApp({ props }).template();

    const [, activation] = only(template, 'AWS::CloudFormation::CustomResource');
    expect(activation.Properties['OnDelete']).toBe(onDelete);
    const mayDelete = new PolicySimulation(template)
      .statements('OrdersFunctionsAdminRole')
      .filter(({ Action }) => listOf(Action).includes('s3:DeleteObject'))
      .map(({ Resource }) => textOf(Resource))
      // What a purge removes, whatever becomes of the rest.
      .filter((resource) => !resource.endsWith('/quarantine/*'));
    expect(mayDelete).toEqual(
      onDelete === 'empty' ? [expect.stringMatching(/^<OrdersBucket.*\/\*$/)] : [],
    );
  });

  it('goes after everything that could write again, and before what it needs', () => {
    const template = makeApp({
      pipeline: ORDERS_WITH_IDLE,
      props: () => ({ stage: 'dev' }),
    }).template();
    const resources = template.toJSON()['Resources'] as Record<string, Resource>;
    const [activationId, activation] = only(template, 'AWS::CloudFormation::CustomResource');

    const goBefore = Object.entries(resources)
      .filter(([, { DependsOn }]) => DependsOn?.includes(activationId))
      .map(([, { Type }]) => Type);
    expect(goBefore.sort()).toEqual([
      'AWS::Events::Rule',
      'AWS::Events::Rule',
      'AWS::Lambda::EventSourceMapping',
      'AWS::Lambda::Permission',
      'AWS::Lambda::Permission',
    ]);
    const goAfter = new Set(activation.DependsOn?.map((id) => resources[id]?.Type));
    for (const type of [
      'AWS::DynamoDB::Table',
      'AWS::IAM::Policy',
      'AWS::IAM::Role',
      'AWS::Kinesis::Stream',
      'AWS::Lambda::Function',
      'AWS::Logs::LogGroup',
      'AWS::S3::Bucket',
    ]) {
      expect(goAfter).toContain(type);
    }
  });
});

describe('the stores', () => {
  it('keep stream, table, bucket and logs in prod, unless the deploy that made them is rolled back', () => {
    const template = prod();

    template.hasResource('AWS::Kinesis::Stream', {
      DeletionPolicy: 'RetainExceptOnCreate',
      UpdateReplacePolicy: 'Retain',
      Properties: {
        Name: 'shop-orders',
        ShardCount: 1,
        RetentionPeriodHours: 168,
        StreamModeDetails: { StreamMode: 'PROVISIONED' },
        StreamEncryption: { EncryptionType: 'KMS', KeyId: 'alias/aws/kinesis' },
      },
    });
    const [, table] = only(template, 'AWS::DynamoDB::Table');
    expect(table).toMatchObject({
      DeletionPolicy: 'RetainExceptOnCreate',
      UpdateReplacePolicy: 'Retain',
    });
    expect(table.Properties).toEqual({
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'sk', AttributeType: 'S' },
      ],
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      BillingMode: 'PAY_PER_REQUEST',
      DeletionProtectionEnabled: true,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      SSESpecification: { SSEEnabled: false },
    });
    for (const [, logs] of resourcesOf(template, 'AWS::Logs::LogGroup')) {
      expect(logs).toMatchObject({
        DeletionPolicy: 'RetainExceptOnCreate',
        Properties: { RetentionInDays: 30 },
      });
    }
  });

  it('throw everything away at stage dev, under other names', () => {
    const template = makeApp({ props: () => ({ stage: 'dev' }) }).template();

    template.hasResource('AWS::Kinesis::Stream', {
      DeletionPolicy: 'Delete',
      Properties: { Name: 'shop-orders-dev' },
    });
    template.hasResource('AWS::DynamoDB::Table', {
      DeletionPolicy: 'Delete',
      Properties: { DeletionProtectionEnabled: false },
    });
    const [, bucket] = only(template, 'AWS::S3::Bucket');
    expect(bucket.DeletionPolicy).toBe('Delete');
    expect(bucket.Properties).not.toHaveProperty('VersioningConfiguration');
  });

  it('never expire an object that is current', () => {
    const [, bucket] = only(prod(), 'AWS::S3::Bucket');

    expect(bucket.DeletionPolicy).toBe('RetainExceptOnCreate');
    expect(bucket.Properties).toEqual({
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [
          { ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } },
        ],
      },
      LifecycleConfiguration: {
        Rules: [
          {
            Id: 'what-was-deleted-and-what-was-never-finished',
            Status: 'Enabled',
            // As the cost model has it.
            NoncurrentVersionExpiration: { NoncurrentDays: NONCURRENT_KEPT_DAYS },
            AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
            ExpiredObjectDeleteMarker: true,
          },
        ],
      },
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      VersioningConfiguration: { Status: 'Enabled' },
    });
  });

  it.each([
    ['AWS::S3::BucketPolicy', 's3:*'],
    ['AWS::SQS::QueuePolicy', 'sqs:*'],
    ['AWS::SNS::TopicPolicy', 'sns:Publish'],
  ])('%s refuses what does not come by TLS', (type, action) => {
    prod().hasResourceProperties(type, {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Effect: 'Deny',
            Action: action,
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
          }),
        ]),
      },
    });
  });

  it('keep what expired for fourteen days, encrypted', () => {
    prod().hasResourceProperties('AWS::SQS::Queue', {
      MessageRetentionPeriod: 1_209_600,
      SqsManagedSseEnabled: true,
    });
  });

  it('scale by themselves where on-demand is asked for', () => {
    const template = makeApp({ props: () => ({ streamMode: StreamMode.ON_DEMAND }) }).template();

    const [, stream] = only(template, 'AWS::Kinesis::Stream');
    expect(stream.Properties).toMatchObject({ StreamModeDetails: { StreamMode: 'ON_DEMAND' } });
    expect(stream.Properties).not.toHaveProperty('ShardCount');
  });

  it('may be given: then nothing is made, and keys begin with stage and name', () => {
    const template = makeApp({
      props: (stack) => ({
        stream: Stream.fromStreamArn(
          stack,
          'Given',
          'arn:aws:kinesis:eu-west-1:111122223333:stream/given',
        ),
        table: Table.fromTableName(stack, 'Restored', 'restored'),
        bucket: Bucket.fromBucketName(stack, 'Theirs', 'theirs'),
        alarmTopic: Topic.fromTopicArn(stack, 'Pager', 'arn:aws:sns:eu-west-1:111122223333:pager'),
        start: 'TRIM_HORIZON',
        retention: Duration.days(2),
      }),
    }).template();

    for (const type of [
      'AWS::Kinesis::Stream',
      'AWS::DynamoDB::Table',
      'AWS::S3::Bucket',
      'AWS::SNS::Topic',
    ]) {
      template.resourceCountIs(type, 0);
    }
    for (const [, { Properties }] of resourcesOf(template, 'AWS::Lambda::Function')) {
      expect(Properties['Environment']).toMatchObject({
        Variables: {
          TIDEMARK_TABLE: 'restored',
          TIDEMARK_BUCKET: 'theirs',
          TIDEMARK_KEY_PREFIX: 'tidemark/prod/orders/',
          TIDEMARK_STREAM_ARN: 'arn:aws:kinesis:eu-west-1:111122223333:stream/given',
          TIDEMARK_RETENTION_HOURS: '48',
        },
      });
    }
  });
});

describe('the functions', () => {
  it('run on Node 24 on ARM, untraced, each with its own role and log group', () => {
    const functions = resourcesOf(prod(), 'AWS::Lambda::Function');

    expect(functions).toHaveLength(4);
    for (const [, { Properties }] of functions) {
      expect(Properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
      });
      expect(Properties).not.toHaveProperty('TracingConfig');
    }
    const distinct = (name: string) =>
      new Set(functions.map(([, { Properties }]) => JSON.stringify(Properties[name]))).size;
    expect(distinct('Role')).toBe(4);
    expect(distinct('LoggingConfig')).toBe(4);
  });

  it('are sized as the props say', () => {
    const template = makeApp({
      props: () => ({
        aggregateMemoryMiB: 3008,
        aggregateTimeout: Duration.minutes(10),
        reservedConcurrency: 3,
        queryConcurrency: 20,
      }),
    }).template();

    template.hasResourceProperties('AWS::Lambda::Function', {
      Description: Match.stringLikeRegexp('answers reads'),
      ReservedConcurrentExecutions: 20,
    });
    prod().hasResourceProperties('AWS::Lambda::Function', {
      Description: Match.stringLikeRegexp('answers reads'),
      ReservedConcurrentExecutions: Match.absent(),
    });

    template.hasResourceProperties('AWS::Lambda::Function', {
      Description: Match.stringLikeRegexp('folds'),
      MemorySize: 3008,
      Timeout: 600,
      ReservedConcurrentExecutions: 3,
    });
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'Duration',
      Threshold: 480_000,
    });
  });

  it('are not asked again for what comes again by itself', () => {
    const configs = resourcesOf(
      makeApp({ pipeline: ORDERS_WITH_IDLE }).template(),
      'AWS::Lambda::EventInvokeConfig',
    );

    expect(
      configs.map(([id]) => id.replace(/^OrdersFunctions|FunctionEvent.*$/g, '')).sort(),
    ).toEqual(['Aggregate', 'Heartbeat', 'Tick']);
    for (const [, { Properties }] of configs) {
      expect(Properties).toMatchObject({
        MaximumRetryAttempts: 0,
        MaximumEventAgeInSeconds: 60,
      });
    }
  });

  it('carry the bundle and the plan, whatever is said in the file made explicit', () => {
    const { app, template } = makeApp({ isWhole: true });
    const functions = resourcesOf(template(), 'AWS::Lambda::Function');

    for (const [, { Properties }] of functions) {
      const { S3Key } = Properties['Code'] as { S3Key: string };
      const folder = join(app.outdir, `asset.${S3Key.replace('.zip', '')}`);
      expect(existsSync(join(folder, 'index.mjs'))).toBe(true);
      expect(existsSync(join(folder, 'bootstrap'))).toBe(false);
      const parsed = parsePlan(JSON.parse(readFileSync(join(folder, 'plan.json'), 'utf8')));
      expect(parsed).toEqual(parsePlan(ORDERS));
    }
  });

  it('have URLs for reads and for admin that only IAM opens', () => {
    const urls = resourcesOf(prod(), 'AWS::Lambda::Url');

    expect(urls).toHaveLength(2);
    for (const [, { Properties }] of urls) expect(Properties['AuthType']).toBe('AWS_IAM');
    expect(new Set(urls.map(([, { Properties }]) => JSON.stringify(Properties))).size).toBe(2);
  });
});

describe('schedules', () => {
  it('tick each minute', () => {
    const [, rule] = only(prod(), 'AWS::Events::Rule');

    expect(rule.Properties).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Targets: [{ RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 } }],
    });
  });

  it('put heartbeats only where the pipeline says how long a shard may be idle', () => {
    const template = makeApp({ pipeline: ORDERS_WITH_IDLE }).template();

    template.resourceCountIs('AWS::Lambda::Function', 5);
    template.hasResourceProperties('AWS::Events::Rule', {
      Description: 'Tidemark orders: heartbeat',
      ScheduleExpression: 'rate(3 minutes)',
    });
  });

  it.each([
    [1_000, 1],
    [120_000, 1],
    [240_000, 2],
    [3_600_000, 5],
  ])('an idle bound of %i ms asks for a heartbeat each %i minutes', (idleMs, minutes) => {
    expect(heartbeatMinutes(idleMs)).toBe(minutes);
  });
});

describe('alarms', () => {
  const alarmsOf = (template: Template) =>
    resourcesOf(template, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties);

  it('watch what people hit, and all tell the topic', () => {
    const template = prod();
    const [topicId] = only(template, 'AWS::SNS::Topic');
    const alarms = alarmsOf(template);

    const named = alarms.map((alarm) => /"(\w+)"\.$/.exec(String(alarm['AlarmDescription']))?.[1]);
    expect(named.sort()).toEqual([
      'Behind',
      'CheckpointAge',
      'Deaths',
      'Faults',
      'FunctionErrors',
      'GapsPossible',
      'NearTimeOut',
      'OnFailure',
      'OtherFaults',
      'Quarantine',
      'ReadThrottles',
      'RestoreRate',
      'SlicesUnknown',
      'Throttles',
      'TickMissing',
      'WriteThrottles',
    ]);
    for (const alarm of alarms) {
      expect(alarm).toMatchObject({
        AlarmActions: [{ Ref: topicId }],
        OKActions: [{ Ref: topicId }],
      });
    }
  });

  it('keep their state where a series ends with what it watches, and only there', () => {
    const kept = alarmsOf(prod())
      .filter(({ TreatMissingData }) => TreatMissingData === 'ignore')
      .map(({ AlarmDescription }) => /"(\w+)"\.$/.exec(String(AlarmDescription))?.[1]);

    expect(kept.sort()).toEqual([
      'Behind',
      'CheckpointAge',
      'OnFailure',
      'SlicesUnknown',
      'TickMissing',
    ]);
    for (const alarm of alarmsOf(prod())) {
      expect(['ignore', 'notBreaching']).toContain(alarm['TreatMissingData']);
      expect(alarm).not.toHaveProperty('InsufficientDataActions');
    }
  });

  it('count errors of every function beside the aggregate function', () => {
    const expressionOf = (template: Template) =>
      alarmsOf(template)
        .filter(({ AlarmDescription }) => String(AlarmDescription).includes('"FunctionErrors"'))
        .flatMap(({ Metrics }) => Metrics as Record<string, unknown>[]);

    const [sum, ...errors] = expressionOf(makeApp({ pipeline: ORDERS_WITH_IDLE }).template());
    expect(sum?.['Expression']).toBe(
      'SUM([FILL(query, 0), FILL(admin, 0), FILL(tick, 0), FILL(heartbeat, 0)])',
    );
    expect(errors.map(({ Id }) => Id)).toEqual(['query', 'admin', 'tick', 'heartbeat']);
    for (const { Id, MetricStat } of errors) {
      expect(MetricStat).toMatchObject({
        Stat: 'Sum',
        Metric: {
          Namespace: 'AWS/Lambda',
          MetricName: 'Errors',
          Dimensions: [
            { Value: { Ref: expect.stringMatching(new RegExp(`^OrdersFunctions${Id}`, 'i')) } },
          ],
        },
      });
    }
    expect(expressionOf(prod())[0]?.['Expression']).toBe(
      'SUM([FILL(query, 0), FILL(admin, 0), FILL(tick, 0)])',
    );
  });

  it('speak of a rate of restores only where there are commits enough', () => {
    prod().hasResourceProperties('AWS::CloudWatch::Alarm', {
      Metrics: Match.arrayWith([
        Match.objectLike({ Expression: 'IF(commits >= 50, 100 * FILL(restores, 0) / commits, 0)' }),
      ]),
    });
  });

  it('ring when the aggregate function gets no place', () => {
    prod().hasResourceProperties('AWS::CloudWatch::Alarm', {
      Namespace: 'AWS/Lambda',
      MetricName: 'Throttles',
      Dimensions: [{ Value: { Ref: Match.stringLikeRegexp('^OrdersFunctionsAggregate') } }],
      Threshold: 1,
    });
  });

  it('ring by the metrics that the functions write', () => {
    const template = prod();

    for (const metric of [
      'checkpointAgeMs',
      'recordsQuarantined',
      'faults',
      'otherFaults',
      'gapsPossible',
      'slicesUnknown',
    ] as const) {
      template.hasResourceProperties('AWS::CloudWatch::Alarm', {
        Namespace: METRIC_NAMESPACE,
        MetricName: METRIC[metric],
        Dimensions: [{ Name: PIPELINE_DIMENSION, Value: 'orders' }],
      });
    }
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      Namespace: 'AWS/Lambda',
      MetricName: 'IteratorAge',
      Statistic: 'Maximum',
      Threshold: 300_000,
    });
  });

  it('count as deaths what Lambda writes of them into the log of the aggregate function, and nothing else', () => {
    const [, filter] = only(prod(), 'AWS::Logs::MetricFilter');

    expect(filter.Properties).toEqual({
      LogGroupName: { Ref: expect.stringMatching(/^OrdersFunctionsAggregateLogs/) },
      FilterPattern: '?"Task timed out after" ?"Runtime exited"',
      MetricTransformations: [
        {
          MetricNamespace: METRIC_NAMESPACE,
          MetricName: 'Deaths-orders',
          MetricValue: '1',
          DefaultValue: 0,
        },
      ],
    });
    prod().hasResourceProperties('AWS::CloudWatch::Alarm', {
      Namespace: METRIC_NAMESPACE,
      MetricName: 'Deaths-orders',
      Statistic: 'Sum',
      Threshold: 2,
    });
  });

  it.each([
    [
      '2026-11-30T10:00:00.000Z 8f507cfc-xmpl-4697-b07a-ac58fc914c95 Task timed out after 300.00 seconds',
      true,
    ],
    [
      'RequestId: 8f507cfc-xmpl-4697-b07a-ac58fc914c95 Error: Runtime exited with error: signal: killed',
      true,
    ],
    [
      'RequestId: 8f507cfc-xmpl-4697-b07a-ac58fc914c95 Error: Runtime exited without providing a reason',
      true,
    ],
    [
      'REPORT RequestId: 8f507cfc-xmpl-4697-b07a-ac58fc914c95 Duration: 300000.00 ms Status: timeout',
      false,
    ],
    ['{"level":"ERROR","message":"deliver failed","error":{"name":"TransientFault"}}', false],
  ])('%s: a death, %s', (line, isDeath) => {
    expect(DEATH_TERMS.some((term) => line.includes(term))).toBe(isDeath);
  });

  it('are charged as the cost model says: their metrics, and those that the functions write', () => {
    const charged = alarmsOf(prod()).flatMap(({ Metrics }) =>
      Array.isArray(Metrics) ? Metrics.filter(({ MetricStat }) => MetricStat !== undefined) : [1],
    );

    expect(charged).toHaveLength(ALARM_METRICS);
    expect([...Object.keys(METRIC), 'deaths']).toHaveLength(METRICS);
  });

  it('may publish, and nobody else of AWS', () => {
    prod().hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Effect: 'Allow',
            Principal: { Service: 'cloudwatch.amazonaws.com' },
            Action: 'sns:Publish',
            Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
          }),
        ]),
      },
    });
  });
});

describe('outputs and dashboard', () => {
  it('say under steady names where things are', () => {
    const outputs = Object.keys(prod().toJSON()['Outputs']);

    expect(outputs.sort()).toEqual([
      'TidemarkOrdersAdminFunction',
      'TidemarkOrdersAdminUrl',
      'TidemarkOrdersAggregateFunction',
      'TidemarkOrdersAlarmTopicArn',
      'TidemarkOrdersBucketName',
      'TidemarkOrdersDashboard',
      'TidemarkOrdersMappingId',
      'TidemarkOrdersOnFailureQueueUrl',
      'TidemarkOrdersQueryFunction',
      'TidemarkOrdersQueryUrl',
      'TidemarkOrdersStreamName',
      'TidemarkOrdersTableName',
      'TidemarkOrdersTickFunction',
    ]);
  });

  it('show alarms and every metric of freshness', () => {
    const [, dashboard] = only(prod(), 'AWS::CloudWatch::Dashboard');
    const body = JSON.stringify(dashboard.Properties['DashboardBody']);

    for (const metric of [
      'IteratorAge',
      METRIC.behindMs,
      METRIC.checkpointAgeMs,
      METRIC.stateBytes,
    ]) {
      expect(body).toContain(metric);
    }
  });
});

describe('two stages of a pipeline', () => {
  it('lie in one stack, each with names of its own', () => {
    const folder = newFolder();
    const template = makeApp({
      folder,
      change: (_, stack) => {
        const pipeline = join(folder, 'pipeline.json');
        new TidemarkPipeline(stack, 'Trial', { pipeline, stage: 'dev' });
      },
    }).template();

    const mappings = resourcesOf(template, 'AWS::Lambda::EventSourceMapping').map(([id]) => id);
    expect(mappings.sort()).toEqual(['TidemarkOrdersDevMapping', 'TidemarkOrdersMapping']);
    expect(Object.keys(template.toJSON()['Outputs'])).toContain('TidemarkOrdersDevQueryUrl');
  });
});

describe('warnings', () => {
  const warningsOf = (options: SynthOptions) => {
    const { stack, template } = makeApp(options);
    template();
    return Annotations.fromStack(stack)
      .findWarning('*', Match.anyValue())
      .map(({ entry }) => String(entry.data));
  };

  it('say at the first synth of a stage that is kept that the lock file is to be committed', () => {
    const folder = newFolder();

    expect(warningsOf({ folder })).toEqual([
      expect.stringMatching(/^tidemark.lock.json says nothing of prod\/orders yet.* Commit it/),
    ]);
    expect(warningsOf({ folder })).toEqual([]);
    expect(warningsOf({ props: () => ({ stage: 'dev' }) })).toEqual([]);
  });

  it('say what an on-demand stream does to slices, where it is of the pipeline', () => {
    const onDemand = { stage: 'dev', streamMode: StreamMode.ON_DEMAND };

    expect(warningsOf({ props: () => onDemand })).toEqual([
      expect.stringContaining('slices do not pass their state on'),
    ]);
    const given = (stack: Stack) => ({
      ...onDemand,
      stream: Stream.fromStreamArn(
        stack,
        'Given',
        'arn:aws:kinesis:eu-west-1:111122223333:stream/given',
      ),
      start: 'TRIM_HORIZON' as const,
      retention: Duration.days(7),
    });
    expect(warningsOf({ props: given })).toEqual([]);
  });

  it.each<[string, boolean, string[]]>([
    ['that has none', false, [expect.stringContaining('has no bucket keys')]],
    ['that has them', true, []],
  ])(
    'name a given bucket whose key is asked for each object: one with KMS %s',
    (_, bucketKeyEnabled, expected) => {
      const given = (stack: Stack) => ({
        stage: 'dev',
        bucket: new Bucket(stack, 'Given', {
          encryption: BucketEncryption.KMS,
          bucketKeyEnabled,
        }) as IBucket,
      });

      expect(warningsOf({ props: given })).toEqual(expected);
    },
  );
});

describe('on an emulator', () => {
  const emulator = (isWhole = false) =>
    makeApp({
      isWhole,
      pipeline: { ...ORDERS_WITH_IDLE, name: 'Shop_Orders.eu' },
      props: () => ({ target: 'emulator', stage: 'dev' }),
    });

  it('everything has a name and goes with the stack', () => {
    const template = emulator().template();
    const names: [string, string, string][] = [
      ['AWS::DynamoDB::Table', 'TableName', 'tidemark-shop-orders-eu-dev-state'],
      ['AWS::S3::Bucket', 'BucketName', 'tidemark-shop-orders-eu-dev-state'],
      ['AWS::SQS::Queue', 'QueueName', 'tidemark-shop-orders-eu-dev-on-failure'],
      ['AWS::Lambda::Function', 'FunctionName', 'tidemark-shop-orders-eu-dev-aggregate'],
      ['AWS::Logs::LogGroup', 'LogGroupName', '/aws/lambda/tidemark-shop-orders-eu-dev-tick'],
    ];

    for (const [type, property, name] of names) {
      template.hasResourceProperties(type, { [property]: name });
      for (const [, resource] of resourcesOf(template, type)) {
        expect(resource.DeletionPolicy ?? 'Delete').toBe('Delete');
      }
    }
  });

  it('functions run on a runtime of our own, with the endpoint', () => {
    const { app, template } = emulator(true);

    for (const [, { Properties }] of resourcesOf(template(), 'AWS::Lambda::Function')) {
      expect(Properties).toMatchObject({
        Runtime: 'provided.al2023',
        Environment: { Variables: { AWS_ENDPOINT_URL: expect.stringMatching(/^http:/) } },
      });
      const { S3Key } = Properties['Code'] as { S3Key: string };
      const folder = join(app.outdir, `asset.${S3Key.replace('.zip', '')}`);
      expect(existsSync(join(folder, 'bootstrap.mjs'))).toBe(true);
      expect(readFileSync(join(folder, 'bootstrap'), 'utf8')).toMatch(/^#!\/bin\/sh\nexec node /);
    }
  });

  it('alarms do without metric math', () => {
    for (const [, { Properties }] of resourcesOf(emulator().template(), 'AWS::CloudWatch::Alarm')) {
      expect(Properties).not.toHaveProperty('Metrics');
    }
  });
});

describe('nothing of CDK itself runs in the account', () => {
  it('the only custom resource is the activation', () => {
    const template = prod();

    const custom = Object.values(template.toJSON()['Resources'] as Record<string, Resource>).filter(
      ({ Type }) => Type.startsWith('Custom::') || Type.includes('CustomResource'),
    );
    expect(custom).toHaveLength(1);
  });
});
