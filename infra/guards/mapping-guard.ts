/**
 * The mapping as rendered has the settings without which records could be lost, counted twice or stuck: also after an
 * escape hatch or an aspect.
 */
import { canonicalJson } from '../../core/definition/plan-json.ts';
import type { Refusal } from './refusal.ts';

type Properties = Readonly<Record<string, unknown>>;

interface Setting {
  readonly name: string;
  readonly isRight: (value: unknown) => boolean;
  readonly expected: string;
  readonly todo: string;
}

const is = (expected: unknown) => (value: unknown) => value === expected;
const isAbsent = (value: unknown) =>
  value === undefined || value === 0 || (Array.isArray(value) && value.length === 0);
const LEAVE = 'take the override away';

const SETTINGS: readonly Setting[] = [
  {
    name: 'ParallelizationFactor',
    isRight: is(1),
    expected: '1: two batches of a shard at once would race for its HEAD at every batch',
    todo: `${LEAVE}; for more throughput deploy a second pipeline on a stream with more shards`,
  },
  {
    name: 'MaximumRetryAttempts',
    isRight: is(-1),
    expected: '-1, without limit: a record that Lambda gives up is a gap',
    todo: `${LEAVE}; bad records go to quarantine, they block nothing`,
  },
  {
    name: 'MaximumRecordAgeInSeconds',
    isRight: is(-1),
    expected: '-1, without limit: a record that Lambda gives up is a gap',
    todo: `${LEAVE}; the stream's retention is the limit`,
  },
  {
    name: 'BisectBatchOnFunctionError',
    isRight: is(true),
    expected: 'true: it isolates a record that kills the process',
    todo: LEAVE,
  },
  {
    name: 'StartingPosition',
    isRight: (value) => value === 'TRIM_HORIZON' || value === 'AT_TIMESTAMP',
    expected: 'TRIM_HORIZON or AT_TIMESTAMP: LATEST can miss records between two mappings',
    todo: "give the construct start: 'TRIM_HORIZON' or a time",
  },
  {
    name: 'FilterCriteria',
    isRight: isAbsent,
    expected: 'none: a record that a filter holds back looks like a gap',
    todo: 'say `category` or `where` in the pipeline file',
  },
  {
    name: 'TumblingWindowInSeconds',
    isRight: isAbsent,
    expected: "none: windows are the pipeline's own",
    todo: 'say `window` in the pipeline file',
  },
  {
    name: 'FunctionResponseTypes',
    isRight: isAbsent,
    expected: 'none: an invocation commits a whole batch or throws',
    todo: LEAVE,
  },
  {
    name: 'Enabled',
    isRight: is(true),
    expected: 'true: a mapping that is off lets records expire',
    todo: `${LEAVE}; to stop for a while, disable it by \`aws lambda update-event-source-mapping\``,
  },
];

/** What only this pipeline can say, as the template would have it. */
export interface MappingEnds {
  readonly EventSourceArn: unknown;
  readonly FunctionName: unknown;
  readonly DestinationConfig: unknown;
  readonly BatchSize: number;
}

export function guardMapping(mapping: Properties, ends: MappingEnds): Refusal[] {
  return [...SETTINGS, ...endSettings(ends)].flatMap(({ name, isRight, expected, todo }) => {
    const value = mapping[name];
    if (isRight(value)) return [];
    const found = `${name} of the event source mapping is ${JSON.stringify(value) ?? 'absent'}`;
    return [{ found, expected, todo }];
  });
}

function endSettings(ends: MappingEnds): Setting[] {
  const setting = (name: keyof MappingEnds, why: string, todo: string): Setting => {
    const wanted = canonicalJson(ends[name]);
    const isRight = (value: unknown) => canonicalJson(value ?? null) === wanted;
    return { name, isRight, expected: `${wanted}: ${why}`, todo: `${LEAVE}; ${todo}` };
  };
  return [
    setting('EventSourceArn', 'replays and heartbeats use that stream', 'give `stream`'),
    setting(
      'FunctionName',
      'it alone folds records, in its own role',
      'to have code of yours in between is not possible',
    ),
    setting(
      'DestinationConfig',
      'the alarm OnFailure watches that queue, and the role may send to no other',
      'subscribe to the alarm topic',
    ),
    setting('BatchSize', 'that is what was found to fit in an invocation', 'give `batchSize`'),
  ];
}
