/**
 * What an escape hatch or another construct can do to a pipeline, and what synth says to it.
 */
import { App, CfnParameter, Duration, Stack } from 'aws-cdk-lib';
import { CfnTable } from 'aws-cdk-lib/aws-dynamodb';
import { CfnStream, Stream } from 'aws-cdk-lib/aws-kinesis';
import {
  Alias,
  CfnEventSourceMapping,
  CfnFunction,
  CfnUrl,
  FunctionUrlAuthType,
  type IVersion,
  type Function as LambdaFunction,
} from 'aws-cdk-lib/aws-lambda';
import { Bucket, CfnBucket, type IBucket } from 'aws-cdk-lib/aws-s3';
import { describe, expect, it } from 'vitest';
import type { TidemarkPipelineProps } from '../../infra/pipeline-props.ts';
import { TidemarkPipeline } from '../../infra/tidemark-pipeline.ts';
import { lockText, makeApp, newFolder, ORDERS, refusalOf } from './pipeline-app.ts';

type Props = Omit<TidemarkPipelineProps, 'pipeline'>;
type Change = (pipeline: TidemarkPipeline, stack: Stack) => void;

const ARN = 'arn:aws:kinesis:eu-west-1:111122223333:stream/other';

function aggregateOf({ functions: { aggregate } }: TidemarkPipeline): LambdaFunction {
  if (aggregate === undefined) throw new Error('the pipeline has no aggregate function');
  return aggregate;
}

/** What a resource of the pipeline becomes. */
function overridden(
  type: abstract new (
    ...values: never[]
  ) => CfnBucket | CfnFunction | CfnStream | CfnTable | CfnUrl,
  path: string,
  value: unknown,
): Change {
  return (pipeline) => {
    for (const node of pipeline.node.findAll()) {
      if (node instanceof type) node.addPropertyOverride(path, value);
    }
  };
}

const mapped = (functionName: (pipeline: TidemarkPipeline, stack: Stack) => string): Change => {
  return (pipeline, stack) => {
    new CfnEventSourceMapping(stack, 'Second', {
      functionName: functionName(pipeline, stack),
      eventSourceArn: ARN,
      startingPosition: 'LATEST',
    });
  };
};

const REFUSED: [string, Change, string[]][] = [
  [
    'a stream that takes larger records',
    overridden(CfnStream, 'MaxRecordSizeInKiB', 10_240),
    ['MaxRecordSizeInKiB of the stream is 10240', 'at most 1024'],
  ],
  [
    'a second mapping of the aggregate function',
    mapped((pipeline) => aggregateOf(pipeline).functionArn),
    ['Shop/Second is a second event source mapping', 'docs/adr/0015', 'take it away'],
  ],
  [
    'a second mapping, of an alias',
    mapped((pipeline, stack) => {
      const version = aggregateOf(pipeline).currentVersion as IVersion;
      return new Alias(stack, 'Live', { aliasName: 'live', version }).functionName;
    }),
    ['Shop/Second is a second event source mapping'],
  ],
  [
    'a second mapping, from another stack',
    (pipeline, stack) => {
      const other = new Stack(stack.node.root, 'Other');
      mapped((from) => aggregateOf(from).functionName)(pipeline, other);
    },
    ['Other/Second is a second event source mapping'],
  ],
  [
    'a second mapping, by an override',
    (pipeline, stack) => {
      mapped(() => 'another')(pipeline, stack);
      const id = stack.resolve((aggregateOf(pipeline).node.defaultChild as CfnFunction).logicalId);
      const second = stack.node.findChild('Second') as CfnEventSourceMapping;
      second.addPropertyOverride('FunctionName', { 'Fn::Sub': `\${${id}.Arn}:live` });
    },
    ['Shop/Second is a second event source mapping'],
  ],
  [
    'current objects that expire',
    overridden(CfnBucket, 'LifecycleConfiguration.Rules.0.ExpirationInDays', 30),
    [
      "expires or archives current objects under ''",
      '"ExpirationInDays":30',
      'noncurrent versions',
    ],
  ],
  [
    'items that expire',
    overridden(CfnTable, 'TimeToLiveSpecification', { AttributeName: 'ttl', Enabled: true }),
    [
      'the table has a time to live',
      'nothing that a HEAD reaches may expire',
      'timeToLiveAttribute',
    ],
  ],
  [
    'a retention that the functions do not know',
    overridden(CfnStream, 'RetentionPeriodHours', 48),
    ['RetentionPeriodHours of the stream is 48', 'expected  168, as the functions are told'],
  ],
  [
    'a retention that is taken away',
    overridden(CfnStream, 'RetentionPeriodHours', undefined),
    ['RetentionPeriodHours of the stream is 24', 'expected  168'],
  ],
  [
    'a variable of ours that is set again',
    (pipeline) => aggregateOf(pipeline).addEnvironment('TIDEMARK_TABLE', 'other'),
    ['TIDEMARK_TABLE of the aggregate function is "other"', 'expected  {"Ref":"OrdersTable'],
  ],
  [
    'a variable of ours that is taken away',
    (pipeline) => {
      const tick = pipeline.functions.tick?.node.defaultChild as CfnFunction;
      tick.addPropertyDeletionOverride('Environment.Variables.TIDEMARK_AGGREGATE_FUNCTION');
    },
    ['TIDEMARK_AGGREGATE_FUNCTION of the tick function is absent', 'take the addEnvironment'],
  ],
  [
    'URLs that anybody may call',
    overridden(CfnUrl, 'AuthType', 'NONE'),
    [
      '/Query/Function/FunctionUrl/Resource is "NONE"',
      '/Admin/Function/FunctionUrl/Resource is "NONE"',
      'expected  AWS_IAM',
      'grantRead and grantAdmin',
    ],
  ],
  [
    'a second URL that anybody may call',
    (pipeline, stack) => {
      const { query } = pipeline.functions;
      new CfnUrl(stack, 'Open', {
        targetFunctionArn: query?.functionArn ?? '',
        authType: FunctionUrlAuthType.NONE,
      });
    },
    ['AuthType of the function URL Shop/Open is "NONE"'],
  ],
  [
    'an aggregate function that may not run',
    overridden(CfnFunction, 'ReservedConcurrentExecutions', 0),
    ['reservedConcurrency is 0', 'at least 3'],
  ],
  [
    'an aggregate function without room for ticks',
    overridden(CfnFunction, 'ReservedConcurrentExecutions', 2),
    ['reservedConcurrency is 2', 'at least 3'],
  ],
  [
    'no mapping',
    (pipeline) => pipeline.node.tryRemoveChild('Mapping'),
    ['the event source mapping of the pipeline was removed', 'until they expire', 'tryRemoveChild'],
  ],
  [
    'no activation',
    (pipeline) => {
      pipeline.node.tryRemoveChild('Activation');
    },
    ['the activation of the plan of the pipeline was removed', 'a plan that never comes'],
  ],
];

describe('refused as rendered, and nothing is locked:', () => {
  it.each(REFUSED)('%s', (_, change, pieces) => {
    const folder = newFolder();

    const message = refusalOf({ change, folder });
    expect(message).toContain('[Shop/Orders] ');
    for (const piece of pieces) expect(message).toContain(piece);
    expect(lockText(folder)).toBeNull();
  });

  it('a reserved concurrency of nothing, whatever the shards', () => {
    const props = (stack: Stack): Props => ({
      stream: Stream.fromStreamArn(stack, 'Given', ARN),
      start: 'TRIM_HORIZON',
      retention: Duration.days(7),
    });
    const reserved = (value: number) =>
      overridden(CfnFunction, 'ReservedConcurrentExecutions', value);

    expect(refusalOf({ props, change: reserved(0) })).toContain('reservedConcurrency is 0');
    expect(() => makeApp({ props, change: reserved(3) }).template()).not.toThrow();
  });

  it.each<[string, Change]>([
    [
      'a mapping of a function of yours',
      mapped(() => 'arn:aws:lambda:eu-west-1:111122223333:function:x'),
    ],
    [
      'a mapping of another stack whose function has the same logical id',
      (pipeline, stack) => {
        const other = new Stack(stack.node.root, 'Other');
        const id = stack.resolve(
          (aggregateOf(pipeline).node.defaultChild as CfnFunction).logicalId,
        );
        new CfnParameter(other, 'Same').overrideLogicalId(id);
        mapped(() => 'x')(pipeline, other);
        const second = other.node.findChild('Second') as CfnEventSourceMapping;
        second.addPropertyOverride('FunctionName', { Ref: id });
      },
    ],
    ['a variable of yours', (pipeline) => aggregateOf(pipeline).addEnvironment('MINE', 'x')],
    [
      'a time to live that is off',
      overridden(CfnTable, 'TimeToLiveSpecification', { AttributeName: 'ttl', Enabled: false }),
    ],
  ])('but not %s', (_, change) => {
    expect(() => makeApp({ change }).template()).not.toThrow();
  });
});

describe('a lifecycle rule of a given bucket', () => {
  const withRule = (rule: object) => (stack: Stack) => {
    const bucket = new Bucket(stack, 'Theirs', { lifecycleRules: [rule] });
    return { bucket: bucket as IBucket };
  };
  const transition = (StorageClass: string) => (pipeline: TidemarkPipeline) => {
    (pipeline.bucket.node.defaultChild as CfnBucket).addPropertyOverride(
      'LifecycleConfiguration.Rules.0',
      { Transitions: [{ StorageClass, TransitionInDays: 90 }] },
    );
  };
  const expiration = Duration.days(30);

  it.each<[string, object]>([
    ['of all objects', { expiration }],
    ['at a date', { expirationDate: new Date('2027-01-01T00:00:00Z') }],
    ['of a prefix above', { expiration, prefix: 'tidemark/' }],
    ['of a prefix within', { expiration, prefix: 'tidemark/prod/orders/x' }],
    ['of small objects', { expiration, objectSizeLessThan: 1000 }],
  ])('is refused where it expires what may be ours: %s', (_, rule) => {
    const message = refusalOf({ props: withRule(rule) });

    expect(message).toContain("expires or archives current objects under 'tidemark/prod/orders/'");
  });

  it.each<[string, object]>([
    ['is off', { expiration, enabled: false }],
    ['is of another prefix', { expiration, prefix: 'logs/' }],
    ['is of objects with a tag', { expiration, tagFilters: { temporary: 'yes' } }],
    ['expires former versions', { noncurrentVersionExpiration: expiration }],
  ])('may stay where it %s', (_, rule) => {
    expect(() => makeApp({ props: withRule(rule) }).template()).not.toThrow();
  });

  it('may move objects only to where they can be read at once', () => {
    const props = withRule({ abortIncompleteMultipartUploadAfter: expiration });

    expect(refusalOf({ props, change: transition('GLACIER') })).toContain('expires or archives');
    expect(() => makeApp({ props, change: transition('STANDARD_IA') }).template()).not.toThrow();
  });
});

describe('two pipelines in one bucket', () => {
  const second = (props: (stack: Stack) => Props, first: (stack: Stack) => Props) => ({
    props: first,
    change: (_: TidemarkPipeline, stack: Stack) => {
      const pipeline = { ...ORDERS, name: 'returns', stream: 'shop-returns' };
      new TidemarkPipeline(stack, 'Returns', { pipeline, target: 'emulator', ...props(stack) });
    },
  });
  const imported = (id: string, keyPrefix: string) => (stack: Stack) => ({
    bucket: Bucket.fromBucketName(stack, id, 'theirs'),
    keyPrefix,
  });

  it('are refused under the same prefix, also where each imports it', () => {
    const message = refusalOf(second(imported('B', 'a/'), imported('A', 'a/')));

    expect(message).toContain(
      "[Shop/Orders] Shop/Returns has the same bucket and the same keyPrefix 'a/'",
    );
    expect(message).toContain('[Shop/Returns] Shop/Orders has the same bucket');
    expect(message).toContain('give one of them another `keyPrefix`');
  });

  it('are refused in a bucket of this app', () => {
    const shared = (stack: Stack) => ({
      bucket: (stack.node.tryFindChild('Theirs') ?? new Bucket(stack, 'Theirs')) as IBucket,
      keyPrefix: 'a/',
    });

    expect(refusalOf(second(shared, shared))).toContain('Shop/Returns has the same bucket');
  });

  it('may each have a prefix, or a bucket, of its own', () => {
    const apart = second(imported('B', 'b/'), imported('A', 'a/'));

    expect(() => makeApp(apart).template()).not.toThrow();
    expect(() =>
      makeApp(
        second(
          () => ({}),
          () => ({}),
        ),
      ).template(),
    ).not.toThrow();
  });
});

describe('a given stream', () => {
  const synth = (region: string | undefined) => {
    const stack = new Stack(
      new App({ outdir: newFolder() }),
      'Shop',
      region ? { env: { region } } : {},
    );
    new TidemarkPipeline(stack, 'Orders', {
      pipeline: ORDERS,
      stream: Stream.fromStreamArn(stack, 'Given', ARN),
      start: 'TRIM_HORIZON',
      retention: Duration.days(7),
      target: 'emulator',
    });
  };

  it('of another region is refused', () => {
    expect(() => synth('us-east-1')).toThrow(
      /\[Shop\/Orders\] the given stream is in eu-west-1, the stack in us-east-1.*deploy the stack in eu-west-1/s,
    );
  });

  it('of the same, or where nobody can tell, is not', () => {
    expect(() => synth('eu-west-1')).not.toThrow();
    expect(() => synth(undefined)).not.toThrow();
  });
});
