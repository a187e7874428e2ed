/**
 * The validated plan: what a pipeline file means, with every default filled in, units in milliseconds and every field
 * path resolved to an index. Built by `parsePlan` only.
 *
 * A plan is a function of the file's meaning: views and aggregates are ordered by name, fields by path. So two plans with
 * the same hash are equal in every part, and state that is laid out by a plan's order can be read under the other.
 */

import type { FieldPath } from './field-path.ts';
import type { AggregateChoice, AggregateKind } from './kinds/aggregate-kinds.ts';
import type { WindowPlan } from './kinds/window-kinds.ts';

/** Its kind, and what was asked of it, among others. */
export type AggregatePlan = AggregateChoice & {
  readonly name: string;
  /** Index into `Plan.fields`; null for `count: "*"`, which counts records. */
  readonly field: number | null;
  /** Index into `ViewPlan.columns`. */
  readonly column: number;
};

/** What the state of a view keeps an accumulator of. Aggregates of one kind and field share it, whatever their names are. */
export interface ColumnPlan {
  readonly kind: AggregateKind;
  /** The text of the field's path; `*` is the record itself. With the kind it is what the column is known by. */
  readonly fieldText: string;
  /** The field by index in the plan; null is the record itself. */
  readonly field: number | null;
}

export const LATE_POLICIES = ['update', 'side', 'drop'] as const;
export type LatePolicy = (typeof LATE_POLICIES)[number];

export interface ViewPlan {
  readonly name: string;
  /** Only records of this category; null takes all. */
  readonly category: string | null;
  /** In the order of the file: it is the order of the key. Empty: all records are one group. `name` is the path's text. */
  readonly groupBy: readonly { readonly name: string; readonly field: number }[];
  readonly window: WindowPlan;
  readonly late: LatePolicy;
  /** Ordered by name, at least one. */
  readonly aggregates: readonly AggregatePlan[];
  /** Each kind and field of the aggregates once, in an order that names do not change: it is the layout of the state. */
  readonly columns: readonly ColumnPlan[];
  /** Changes exactly when it changes what an entry of the view stands for (32 hex digits). */
  readonly hash: string;
}

export interface Plan {
  readonly name: string;
  readonly stream: string;
  /** Null: a record's time is its arrival time. */
  readonly time: { readonly path: FieldPath; readonly unitMs: 1 | 1000 } | null;
  /** Name of the time zone in which times without offset are read and days are cut. */
  readonly zone: string;
  readonly latenessMs: number;
  /** How far a record's time may lie after its arrival; null: any, and always null with arrival time. */
  readonly skewMs: number | null;
  /** A record whose time is before it is quarantined; null: none is, and always null with arrival time. */
  readonly earliestMs: number | null;
  /** How long after a heartbeat's arrival nothing older than it is expected; null: heartbeats mean nothing. */
  readonly idleMs: number | null;
  readonly category: FieldPath | null;
  readonly dedupe: { readonly path: FieldPath; readonly withinMs: number } | null;
  /** The distinct fields that views group by or aggregate. */
  readonly fields: readonly FieldPath[];
  /** Ordered by name, at least one. */
  readonly views: readonly ViewPlan[];
  /** Of the whole meaning (32 hex digits): two files with the same hash are the same pipeline. */
  readonly hash: string;
}
