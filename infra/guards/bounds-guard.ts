/**
 * Numbers that Lambda or Kinesis would refuse in the middle of a deploy, or with which an invocation could not do its work.
 */
import { type Duration, RemovalPolicy } from 'aws-cdk-lib';
import { COMMIT_RESERVE_MS, INVOCATION_MS_MAX } from '../../core/limits.ts';
import type { TidemarkPipelineProps } from '../pipeline-props.ts';
import type { Refusal } from './refusal.ts';

type BoundedProps = Pick<
  TidemarkPipelineProps,
  | 'aggregateMemoryMiB'
  | 'aggregateTimeout'
  | 'batchWindow'
  | 'shardCount'
  | 'queryConcurrency'
  | 'removalPolicy'
>;

interface Bound {
  readonly name: keyof BoundedProps;
  readonly value: number | undefined;
  readonly least: number;
  readonly most: number;
  readonly unit: string;
  readonly why: string;
}

/** Many times what an invocation keeps back for its last commit: the rest is for restoring and replaying. */
const TIMEOUT_SECONDS_MIN = (12 * COMMIT_RESERVE_MS) / 1000;
const TIMEOUT_SECONDS_MAX = INVOCATION_MS_MAX / 1000;
const WINDOW_SECONDS_MAX = 300;
const MEMORY_MIB_MIN = 256;
const MEMORY_MIB_MAX = 10_240;
const SHARDS_MAX = 20_000;
const QUERIES_MAX = 10_000;

export function guardBounds(props: BoundedProps): Refusal[] {
  return [...boundsOf(props).flatMap(guardBound), ...guardRemoval(props.removalPolicy)];
}

function boundsOf(props: BoundedProps): Bound[] {
  return [
    {
      name: 'aggregateTimeout',
      value: seconds(props.aggregateTimeout),
      least: TIMEOUT_SECONDS_MIN,
      most: TIMEOUT_SECONDS_MAX,
      unit: 'seconds',
      why: 'an invocation restores, replays and keeps time back for its last write; Lambda ends it after 15 minutes',
    },
    {
      name: 'batchWindow',
      value: seconds(props.batchWindow),
      least: 0,
      most: WINDOW_SECONDS_MAX,
      unit: 'seconds',
      why: 'Lambda gathers a batch for 5 minutes at most',
    },
    {
      name: 'aggregateMemoryMiB',
      value: props.aggregateMemoryMiB,
      least: MEMORY_MIB_MIN,
      most: MEMORY_MIB_MAX,
      unit: 'MiB',
      why: 'Node, the code, a batch of 6 MB and a quarter for state do not fit in less; Lambda has no more',
    },
    {
      name: 'queryConcurrency',
      value: props.queryConcurrency,
      least: 1,
      most: QUERIES_MAX,
      unit: 'invocations',
      why: 'with none no question is answered; each answers one at a time',
    },
    {
      name: 'shardCount',
      value: props.shardCount,
      least: 1,
      most: SHARDS_MAX,
      unit: 'shards',
      why: 'a stream has one at least, and no account has more',
    },
  ];
}

function guardBound({ name, value, least, most, unit, why }: Bound): Refusal[] {
  if (value === undefined) return [];
  if (Number.isInteger(value) && value >= least && value <= most) return [];
  return [
    {
      found: `${name} is ${value} ${unit}`,
      expected: `a whole number from ${least} to ${most}: ${why}`,
      todo: 'give one within, or leave it out',
    },
  ];
}

/** None of the stores can be kept as a snapshot. */
function guardRemoval(policy: RemovalPolicy | undefined): Refusal[] {
  if (policy !== RemovalPolicy.SNAPSHOT) return [];
  return [
    {
      found: 'removalPolicy is SNAPSHOT, which no stream, table or bucket knows',
      expected: 'RETAIN_ON_UPDATE_OR_DELETE, RETAIN or DESTROY',
      todo: 'leave it out; the table has point-in-time recovery',
    },
  ];
}

function seconds(duration: Duration | undefined): number | undefined {
  return duration?.toSeconds({ integral: false });
}
