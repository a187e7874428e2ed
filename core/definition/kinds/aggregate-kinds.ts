/**
 * The kinds of aggregates, and those that a later version will have.
 */
import { Codes } from '../../codes.ts';
import type { AggregateDescriptor } from './aggregate-descriptor.ts';
import { COUNT } from './count.ts';
import { MAX } from './max.ts';
import { MEAN } from './mean.ts';
import { MIN } from './min.ts';
import { QUANTILE } from './quantile.ts';
import { SUM } from './sum.ts';

/** In the order in which a message names them. */
export const AGGREGATES = [COUNT, SUM, MIN, MAX, MEAN, QUANTILE] as const;

/** Refused by name. */
export const AGGREGATES_LATER = ['distinct', 'top', 'variance', 'first', 'last'];

type Descriptor = (typeof AGGREGATES)[number];

export type AggregateKind = Descriptor['kind'];

/** A kind with the options that were asked of it. */
export type AggregateChoice = {
  [Kind in AggregateKind]: {
    readonly kind: Kind;
    readonly options: ReturnType<Extract<Descriptor, { kind: Kind }>['readOptions']>;
  };
}[AggregateKind];

export type AggregateJson = ReturnType<Descriptor['toJson']>;

const BY_KIND: ReadonlyMap<AggregateKind, AggregateDescriptor> = new Map(
  AGGREGATES.map((descriptor) => [descriptor.kind, descriptor]),
);

export function aggregateOf(kind: AggregateKind): AggregateDescriptor {
  return BY_KIND.get(kind) as AggregateDescriptor;
}

/** What is stored of a column's kind. */
export const AGGREGATE_CODES = new Codes<AggregateKind>(
  'an aggregate',
  Object.fromEntries(AGGREGATES.map(({ kind, code }) => [kind, code])) as Readonly<
    Record<AggregateKind, number>
  >,
);
