import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CfnStream } from 'aws-cdk-lib/aws-kinesis';
import { CfnEventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { describe, expect, it } from 'vitest';
import { parsePlan } from '../../core/definition/parse-plan.ts';
import type { PipelineJson, ViewJson } from '../../core/definition/pipeline-json.ts';
import type { TidemarkPipeline } from '../../infra/tidemark-pipeline.ts';
import {
  lockText,
  makeApp,
  newFolder,
  ORDERS,
  refusalOf,
  type SynthOptions,
} from './pipeline-app.ts';

/** A folder after a first deploy. */
function deployed(options: SynthOptions = {}): { folder: string; lock: string } {
  const folder = newFolder();
  makeApp({ ...options, folder }).template();
  return { folder, lock: lockText(folder) ?? '' };
}

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
    ['{"version": 2, "pipelines": {}}', 'is version 2, expected 1', 'upgrade Tidemark'],
    ['[]', 'is version none', 'bring the file back'],
  ])('that says %s is refused, and stays', (text, ...pieces) => {
    const folder = newFolder();
    writeFileSync(join(folder, 'tidemark.lock.json'), text);

    const message = refusalOf({ folder });
    for (const piece of ['tidemark.lock.json', ...pieces]) expect(message).toContain(piece);
    expect(lockText(folder)).toBe(text);
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
      'a view under another name',
      withViews({ by_town: by_city, by_day }),
      'by_city',
      'view by_town: added',
    ],
    [
      'a setting that reaches all views',
      { ...ORDERS, dedupe: { id: 'id', within: '5m' } },
      'by_city,by_day',
      'dedupe not set → id id, within 5m',
    ],
  ])('that drops state is refused until it is allowed: %s', (_, pipeline, views, change) => {
    const { folder, lock } = deployed();

    const message = refusalOf({ folder, pipeline });
    expect(message).toContain(`this change drops the state of ${views.replace(',', ', ')}:`);
    expect(message).toContain(change);
    expect(message).toContain(`-c tidemark:allowDrop=${views} goes on`);
    expect(lockText(folder)).toBe(lock);

    const context = { 'tidemark:allowDrop': views };
    makeApp({ folder, pipeline, context }).template();
    expect(lockText(folder)).not.toBe(lock);
    // Now it is what is deployed.
    makeApp({ folder, pipeline }).template();
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
