import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Annotations, type CfnResource, RemovalPolicy, Stack, Stage } from 'aws-cdk-lib';
import { CfnTable, Table } from 'aws-cdk-lib/aws-dynamodb';
import { CfnStream, StreamMode } from 'aws-cdk-lib/aws-kinesis';
import { CfnEventSourceMapping, type CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { Bucket, CfnBucket, type IBucket } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { parsePlan } from '../../core/definition/parse-plan.ts';
import type { PipelineJson, ViewJson } from '../../core/definition/pipeline-json.ts';
import { TidemarkPipeline } from '../../infra/tidemark-pipeline.ts';
import {
  lockText,
  makeApp,
  newFolder,
  ORDERS,
  refusalOf,
  type SynthOptions,
} from './pipeline-app.ts';

/** A folder after a first deploy. */
function deployed(options: SynthOptions = DEFAULT): { folder: string; lock: string } {
  const folder = newFolder();
  if (options === DEFAULT && defaultLock !== undefined) {
    writeFileSync(join(folder, 'tidemark.lock.json'), defaultLock);
    return { folder, lock: defaultLock };
  }
  makeApp({ ...options, folder }).template();
  const lock = lockText(folder) ?? '';
  if (options === DEFAULT) defaultLock = lock;
  return { folder, lock };
}

const DEFAULT: SynthOptions = {};
/** What the first deploy wrote: the next ones would write the same. */
let defaultLock: string | undefined;

function withViews(views: Record<string, ViewJson>): PipelineJson {
  return { ...ORDERS, views };
}

const { by_city, by_day } = ORDERS.views as Record<'by_city' | 'by_day', ViewJson>;

describe('the lock file', () => {
  it('is written beside the pipeline file at the first synth', () => {
    const { lock } = deployed();

    const { pipelines } = JSON.parse(lock);
    expect(Object.keys(pipelines)).toEqual(['prod/orders']);
    const { pipeline, ...rest } = pipelines['prod/orders'];
    expect(rest).toEqual({
      construct: 'Shop/Orders',
      mapping: {
        logicalId: 'TidemarkOrdersMapping',
        start: 'TRIM_HORIZON',
        stream: { 'Fn::GetAtt': [expect.stringMatching(/^OrdersStream/), 'Arn'] },
      },
      stores: {
        table: { logicalId: expect.stringMatching(/^OrdersTable/), name: null },
        bucket: { logicalId: expect.stringMatching(/^OrdersBucket/), name: null, keyPrefix: '' },
        stream: { logicalId: expect.stringMatching(/^OrdersStream/), name: 'shop-orders' },
        isKept: true,
      },
      shardCount: 1,
    });
    expect(parsePlan(pipeline)).toEqual(parsePlan(ORDERS));
  });

  it('stays byte for byte when nothing changed', () => {
    const { folder, lock } = deployed();

    makeApp({ folder }).template();
    expect(lockText(folder)).toBe(lock);
  });

  it('keeps stages apart', () => {
    const { folder } = deployed();

    makeApp({
      folder,
      constructId: 'Trial',
      props: () => ({ stage: 'dev', start: new Date('2026-01-31T00:00:00Z') }),
    }).template();
    const { pipelines } = JSON.parse(lockText(folder) ?? '');
    expect(Object.keys(pipelines)).toEqual(['dev/orders', 'prod/orders']);
    expect(pipelines['dev/orders'].mapping.start).toBe('2026-01-31T00:00:00.000Z');
  });

  it('is not there on an emulator, where nothing is kept', () => {
    const { folder } = deployed({ props: () => ({ target: 'emulator' }) });

    expect(lockText(folder)).toBeNull();
  });

  it.each([
    ['{', 'is not JSON', 'bring it back from version control'],
    ['{"version": 3, "pipelines": {}}', 'is version 3, expected 1 or 2', 'upgrade Tidemark'],
    ['[]', 'is version none', 'bring the file back'],
    ['{"version": 2}', '`pipelines` is absent, expected an object', 'bring it back'],
    ['{"version": 2, "pipelines": []}', '`pipelines` is [], expected an object', 'bring it back'],
  ])('that says %s is refused, and stays', (text, ...pieces) => {
    const folder = newFolder();
    writeFileSync(join(folder, 'tidemark.lock.json'), text);

    const message = refusalOf({ folder });
    for (const piece of ['tidemark.lock.json', ...pieces]) expect(message).toContain(piece);
    expect(lockText(folder)).toBe(text);
  });
});

describe('a damaged entry of the lock file', () => {
  function withEntries(damage: (entry: Record<string, unknown>) => Record<string, unknown>): {
    folder: string;
    damaged: string;
  } {
    const { folder, lock } = deployed();
    const { pipelines, ...rest } = JSON.parse(lock);
    const damaged = JSON.stringify({ ...rest, pipelines: damage(pipelines['prod/orders']) });
    writeFileSync(join(folder, 'tidemark.lock.json'), damaged);
    return { folder, damaged };
  }

  it.each<[string, (entry: Record<string, unknown>) => unknown, string]>([
    ['null', () => null, '"prod/orders" is null, expected an object'],
    ['a text', () => 'x', '"prod/orders" is "x", expected an object'],
    ['a list', () => [], '"prod/orders" is [], expected an object'],
    ['empty', () => ({}), '`construct` of "prod/orders" is absent, expected a path'],
    [
      'without mapping',
      ({ mapping: _, ...entry }) => entry,
      '`mapping` of "prod/orders" is absent, expected an object with logicalId, start and stream',
    ],
    [
      'with half a mapping',
      (entry) => ({ ...entry, mapping: { logicalId: 'x', start: 'TRIM_HORIZON' } }),
      '`mapping` of "prod/orders" is {"logicalId":"x"',
    ],
    [
      'with no stores in its stores',
      (entry) => ({ ...entry, stores: null }),
      '`stores` of "prod/orders" is null, expected an object with table, bucket, stream',
    ],
    [
      'without a table',
      (entry) => ({ ...entry, stores: { ...(entry['stores'] as object), table: null } }),
      '`stores` of "prod/orders" is {"table":null',
    ],
    [
      'without its pipeline',
      (entry) => ({ ...entry, pipeline: null }),
      '`pipeline` of "prod/orders" is null, expected a pipeline',
    ],
    [
      'of an empty pipeline',
      (entry) => ({ ...entry, pipeline: {} }),
      'holds of "prod/orders" a pipeline that this version cannot read',
    ],
  ])('%s is named, and stays', (_, damage, piece) => {
    const { folder, damaged } = withEntries((entry) => ({ 'prod/orders': damage(entry) }));

    const message = refusalOf({ folder });
    for (const part of ['tidemark.lock.json', piece, 'back from version control']) {
      expect(message).toContain(part);
    }
    expect(lockText(folder)).toBe(damaged);
  });

  it.each([[null], ['x'], [{}], [[]]])('%j of another stops no synth, and stays', (other) => {
    const { folder } = withEntries((entry) => ({ 'dev/other': other, 'prod/orders': entry }));

    const all = { aggregates: { orders: { count: '*' as const } } };
    makeApp({ folder, pipeline: withViews({ by_city, by_day, all }) }).template();
    // Neither does it where this pipeline is new.
    makeApp({ folder, constructId: 'Trial', props: () => ({ stage: 'dev' }) }).template();
    const { pipelines } = JSON.parse(lockText(folder) ?? '');
    expect(pipelines['dev/other']).toEqual(other);
    expect(Object.keys(pipelines)).toEqual(['dev/orders', 'dev/other', 'prod/orders']);
    expect(Object.keys(pipelines['prod/orders'].pipeline.views)).toContain('all');
  });

  it('is none where an editor put a byte order mark', () => {
    const { folder, lock } = deployed();
    writeFileSync(join(folder, 'tidemark.lock.json'), `\uFEFF${lock}`);

    expect(refusalOf({ folder, pipeline: withViews({ by_city }) })).toContain('by_day');
    makeApp({ folder }).template();
    expect(lockText(folder)).toBe(lock);
  });
});

describe('where something else in the app is refused', () => {
  const dropping: SynthOptions = {
    pipeline: withViews({ by_city }),
    context: { 'tidemark:allowDrop': 'by_day' },
  };
  const objects = (scope: Construct) => scope.node.addValidation({ validate: () => ['not so'] });

  it.each<[string, NonNullable<SynthOptions['change']>]>([
    ['by a construct after it', (_, stack) => objects(new Construct(stack, 'Later'))],
    ['by one within it', (pipeline) => objects(new Construct(pipeline, 'Within'))],
    ['by another stack', (_, stack) => objects(new Stack(stack.node.root, 'Other'))],
  ])('nothing is locked: %s', (_, change) => {
    const { folder, lock } = deployed();

    expect(refusalOf({ ...dropping, folder, change })).toContain('not so');
    expect(lockText(folder)).toBe(lock);
    makeApp({ ...dropping, folder }).template();
    expect(lockText(folder)).not.toBe(lock);
  });

  it('nothing is locked by an error that only the command line heeds', () => {
    const { folder, lock } = deployed();

    const change: SynthOptions['change'] = (_, stack) => Annotations.of(stack).addError('not so');
    makeApp({ ...dropping, folder, change }).app.synth();
    expect(lockText(folder)).toBe(lock);
  });

  it.each<[string, (stack: Stack) => Stack]>([
    ['in one stack', (stack) => stack],
    ['in stages of CDK', ({ node }) => new Stack(new Stage(node.root, 'Beta'), 'Shop')],
  ])('no pipeline of several is locked, and all are where none is: %s', (_, stackOf) => {
    const folder = newFolder();
    const both = (reserved: number): SynthOptions => ({
      folder,
      change: (__, stack) => {
        const trial = new TidemarkPipeline(stackOf(stack), 'Trial', {
          pipeline: join(folder, 'pipeline.json'),
          stage: 'dev',
        });
        const aggregate = trial.functions.aggregate?.node.defaultChild as CfnFunction;
        aggregate.addPropertyOverride('ReservedConcurrentExecutions', reserved);
      },
    });

    expect(refusalOf(both(0))).toContain('Shop/Trial] reservedConcurrency is 0');
    expect(lockText(folder)).toBeNull();
    makeApp(both(3)).template();
    const { pipelines } = JSON.parse(lockText(folder) ?? '');
    expect(Object.keys(pipelines)).toEqual(['dev/orders', 'prod/orders']);
  });
});

describe('a lock file of version 1', () => {
  /** As the version before wrote it. */
  function formerly(): { folder: string; lock: string } {
    const { folder, lock } = deployed();
    const { pipelines, ...rest } = JSON.parse(lock);
    const { stores: _, ...known } = pipelines['prod/orders'];
    const former = { ...rest, version: 1, pipelines: { 'prod/orders': known } };
    writeFileSync(join(folder, 'tidemark.lock.json'), JSON.stringify(former));
    return { folder, lock };
  }

  it('is read, and written anew with all that is known now', () => {
    const { folder, lock } = formerly();

    makeApp({ folder }).template();
    expect(lockText(folder)).toBe(lock);
  });

  it('still refuses what it knows of', () => {
    const { folder } = formerly();

    expect(refusalOf({ folder, pipeline: withViews({ by_city }) })).toContain('by_day');
    const pipeline = { ...ORDERS, stream: 'other' };
    expect(refusalOf({ folder, pipeline })).toContain('was shop-orders and is other now');
  });
});

describe('the number of shards', () => {
  it('stays as it was locked, and the message says what to do instead', () => {
    const { folder } = deployed({ props: () => ({ shardCount: 2 }) });
    expect(JSON.parse(lockText(folder) ?? '').pipelines['prod/orders'].shardCount).toBe(2);
    const message = refusalOf({ folder, props: () => ({ shardCount: 4 }) });
    expect(message).toContain('the stream had 2 shards and has 4 now');
    expect(message).toContain('deploy a second pipeline');
    const onDemand = { streamMode: StreamMode.ON_DEMAND };
    expect(refusalOf({ folder, props: () => onDemand })).toContain(
      'as many as Kinesis finds right',
    );
    makeApp({ folder, props: () => ({ shardCount: 2 }) }).template();
  });

  it('is learned where the file does not say it', () => {
    const { folder } = deployed();
    const path = join(folder, 'tidemark.lock.json');
    const lock = JSON.parse(lockText(folder) ?? '');
    delete lock.pipelines['prod/orders'].shardCount;
    writeFileSync(path, JSON.stringify(lock));
    makeApp({ folder, props: () => ({ shardCount: 3 }) }).template();
    expect(JSON.parse(lockText(folder) ?? '').pipelines['prod/orders'].shardCount).toBe(3);
  });
});

describe('in CI, where what synth writes is not committed,', () => {
  const inCi = (options: SynthOptions) => {
    vi.stubEnv('CI', 'true');
    onTestFinished(() => {
      vi.stubEnv('CI', '');
    });
    makeApp(options).template();
  };

  it('a pipeline that the lock file does not know is refused, unless it is named as new', () => {
    const folder = newFolder();

    expect(() => inCi({ folder })).toThrow(
      /says nothing of prod\/orders.*cdk synth.*commit.*-c tidemark:newPipeline=prod\/orders goes on/s,
    );
    expect(lockText(folder)).toBeNull();
    expect(() => inCi({ folder, context: { 'tidemark:newPipeline': 'prod/others' } })).toThrow();
    inCi({ folder, context: { 'tidemark:newPipeline': 'dev/orders, prod/orders' } });
    expect(lockText(folder)).not.toBeNull();
  });

  it('one that it knows goes on, and a stage that keeps nothing needs none', () => {
    const { folder } = deployed();

    inCi({ folder });
    inCi({ props: () => ({ stage: 'dev' }) });
    inCi({ props: () => ({ target: 'emulator' }) });
  });
});

describe('a change of views', () => {
  it('that drops no state is locked', () => {
    const { folder } = deployed();
    const pipeline = withViews({
      by_city,
      by_day,
      all: { aggregates: { orders: { count: '*' } } },
    });

    makeApp({ folder, pipeline }).template();
    const { pipelines } = JSON.parse(lockText(folder) ?? '');
    expect(Object.keys(pipelines['prod/orders'].pipeline.views)).toContain('all');
  });

  it.each<[string, PipelineJson, string, string]>([
    ['a view that goes', withViews({ by_city }), 'by_day', 'view by_day: removed'],
    [
      'a view that changes its meaning',
      withViews({ by_city, by_day: { ...by_day, window: { tumbling: '2d' } } }),
      'by_day',
      'view by_day: window 1d → 2d',
    ],
    [
      'a view of which no aggregate stays',
      withViews({ by_city, by_day: { ...by_day, aggregates: { total: { max: 'amount' } } } }),
      'by_day',
      'view by_day: aggregate total sum amount → max amount',
    ],
  ])('that drops state is refused until it is allowed: %s', (_, pipeline, views, change) => {
    const { folder, lock } = deployed();

    const message = refusalOf({ folder, pipeline });
    expect(message).toContain(`this change drops the state of ${views.replace(',', ', ')}:`);
    expect(message).toContain(change);
    expect(message).toContain(`-c tidemark:allowDrop=${views} goes on`);
    expect(message).toContain(
      'A rollback needs this option too: under exactly the plan before the last deployed change, less than 24',
    );
    expect(lockText(folder)).toBe(lock);

    const context = { 'tidemark:allowDrop': views };
    makeApp({ folder, pipeline, context }).template();
    expect(lockText(folder)).not.toBe(lock);
    // Now it is what is deployed.
    makeApp({ folder, pipeline }).template();
  });

  it('is refused where an aggregate goes, until that is allowed', () => {
    const both = { ...by_day, aggregates: { ...by_day.aggregates, orders: { count: '*' } } };
    const { folder } = deployed({ pipeline: withViews({ by_city, by_day: both }) });

    const message = refusalOf({ folder });
    expect(message).toContain('this change drops the state of by_day.orders:');
    expect(message).toContain("by_day keeps its state; aggregate 'orders' ends");
    makeApp({ folder, context: { 'tidemark:allowDrop': 'by_day.orders' } }).template();
  });

  it.each<[string, PipelineJson]>([
    ['a view under another name', withViews({ by_town: by_city, by_day })],
    ['policies', { ...ORDERS, dedupe: { id: 'id', within: '5m' } }],
    [
      'an aggregate that is added',
      withViews({
        by_city,
        by_day: { ...by_day, aggregates: { ...by_day.aggregates, more: { max: 'x' } } },
      }),
    ],
  ])('that keeps all state is taken: %s', (_, pipeline) => {
    const { folder, lock } = deployed();
    makeApp({ folder, pipeline }).template();
    expect(lockText(folder)).not.toBe(lock);
  });

  it('goes back by what the message says, or with the lock file that was beside it', () => {
    const { folder, lock } = deployed();
    const pipeline = withViews({
      by_city,
      by_day,
      all: { aggregates: { orders: { count: '*' } } },
    });
    makeApp({ folder, pipeline }).template();

    expect(refusalOf({ folder })).toContain(
      '-c tidemark:allowDrop=all goes on. A rollback needs this option too',
    );
    makeApp({ folder, context: { 'tidemark:allowDrop': 'all' } }).template();
    expect(lockText(folder)).toBe(lock);

    makeApp({ folder, pipeline }).template();
    writeFileSync(join(folder, 'tidemark.lock.json'), lock);
    makeApp({ folder }).template();
  });

  it('is refused for the views that were not named, and the message names both', () => {
    const { folder } = deployed();
    const pipeline = withViews({ all: { aggregates: { orders: { count: '*' } } } });

    const message = refusalOf({ folder, pipeline, context: { 'tidemark:allowDrop': 'by_day' } });
    expect(message).toContain('drops the state of by_city:');
    expect(message).toContain('-c tidemark:allowDrop=by_city,by_day');
  });
});

describe('a change that would replace what keeps state is refused, and nothing is written:', () => {
  const overridden =
    (override: (mapping: CfnEventSourceMapping) => void) => (pipeline: TidemarkPipeline) => {
      for (const node of pipeline.node.findAll()) {
        if (node instanceof CfnEventSourceMapping) override(node);
      }
    };

  function overriddenStore<Store extends CfnResource>(
    type: abstract new (...values: never[]) => Store,
    override: (store: Store) => void,
  ) {
    return (pipeline: TidemarkPipeline) => {
      for (const node of pipeline.node.findAll()) {
        if (node instanceof type) override(node as Store);
      }
    };
  }

  const CASES: [string, SynthOptions, string[]][] = [
    [
      'another start',
      { props: () => ({ start: new Date('2026-01-31T00:00:00Z') }) },
      [
        'the start of the event source mapping was TRIM_HORIZON and is 2026-01-31T00:00:00.000Z now',
      ],
    ],
    [
      'another start behind the back of the props',
      {
        change: overridden((mapping) => {
          mapping.addPropertyOverride('StartingPosition', 'AT_TIMESTAMP');
          mapping.addPropertyOverride('StartingPositionTimestamp', 1_769_860_800);
        }),
      },
      ['was TRIM_HORIZON and is 2026-01-31T12:00:00.000Z now'],
    ],
    [
      'another logical id of the mapping',
      { change: overridden((mapping) => mapping.overrideLogicalId('Other')) },
      ['the logical id of the event source mapping was TidemarkOrdersMapping and is Other now'],
    ],
    [
      'another stream',
      {
        change: (pipeline) => {
          (pipeline.stream.node.defaultChild as CfnStream).overrideLogicalId('Other');
        },
      },
      ['the stream of the event source mapping was {"Fn::GetAtt":["OrdersStream'],
    ],
    [
      'another logical id of the table',
      { change: overriddenStore(CfnTable, (table) => table.overrideLogicalId('Other')) },
      ['the table was {"logicalId":"OrdersTable', 'give it as `table`'],
    ],
    [
      'a name of the table, which replaces it',
      { change: overriddenStore(CfnTable, (table) => (table.tableName = 'orders')) },
      ['"name":null} and is {', '"name":"orders"} now', 'holds no HEAD'],
    ],
    [
      'a given table',
      { props: (stack) => ({ table: Table.fromTableName(stack, 'Restored', 'restored') }) },
      ['and is {"logicalId":null,"name":"restored"} now', 'another holds no HEAD'],
    ],
    [
      'another logical id of the bucket',
      { change: overriddenStore(CfnBucket, (bucket) => bucket.overrideLogicalId('Other')) },
      ['the bucket was {"logicalId":"OrdersBucket', 'is {"logicalId":"Other","name":null} now'],
    ],
    [
      'a given bucket',
      { props: (stack) => ({ bucket: Bucket.fromBucketName(stack, 'Theirs', 'theirs') }) },
      [
        'and is {"logicalId":null,"name":"theirs"} now',
        'the keyPrefix was "" and is "tidemark/prod/orders/" now',
      ],
    ],
    [
      'another key prefix',
      { props: () => ({ keyPrefix: 'a/' }) },
      ['the keyPrefix was "" and is "a/" now', 'put it back'],
    ],
    [
      'another name of the stream behind the back of the pipeline file',
      { change: overriddenStore(CfnStream, (stream) => (stream.name = 'other')) },
      ['the stream was {', '"name":"other"} now', 'to which no producer writes'],
    ],
    [
      'another stream in the pipeline file',
      { pipeline: { ...ORDERS, stream: 'other' } },
      ['`stream` of the pipeline was shop-orders and is other now', 'the stream was {'],
    ],
    [
      'stores that go with the stack',
      { props: () => ({ removalPolicy: RemovalPolicy.DESTROY }) },
      ['outlived the stack, and now one of them goes with it', 'take removalPolicy: DESTROY'],
    ],
    [
      'one store that goes with the stack behind the back of the props',
      {
        change: overriddenStore(CfnTable, (table) =>
          table.applyRemovalPolicy(RemovalPolicy.DESTROY),
        ),
      },
      ['outlived the stack, and now one of them goes with it', 'or what else overrides it'],
    ],
    [
      'another construct id',
      { constructId: 'Purchases' },
      ['the construct of prod/orders was Shop/Orders and is Shop/Purchases now', 'put the id back'],
    ],
    [
      'another name in the same place',
      { pipeline: { ...ORDERS, name: 'purchases' } },
      [
        'the construct Shop/Orders was prod/orders and is prod/purchases now',
        'put name and stage back',
      ],
    ],
  ];

  it.each(CASES)('%s', (_, options, pieces) => {
    const { folder, lock } = deployed();

    const message = refusalOf({ ...options, folder });
    for (const piece of [...pieces, 'remove "prod/orders" from tidemark.lock.json']) {
      expect(message).toContain(piece);
    }
    expect(lockText(folder)).toBe(lock);
  });
});

it('what is given may go or stay as its owner likes', () => {
  const options: SynthOptions = {
    props: (stack) => ({
      bucket: new Bucket(stack, 'Theirs', { removalPolicy: RemovalPolicy.DESTROY }) as IBucket,
    }),
  };
  const { folder, lock } = deployed(options);

  expect(JSON.parse(lock).pipelines['prod/orders'].stores).toMatchObject({
    bucket: { logicalId: expect.stringMatching(/^Theirs/), keyPrefix: 'tidemark/prod/orders/' },
    isKept: true,
  });
  makeApp({ ...options, folder }).template();
});
