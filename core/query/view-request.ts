/**
 * What is asked of a view: parameters, validated against the plan. Unknown ones are refused, never ignored.
 */
import type { Plan, ViewPlan } from '../definition/plan.ts';
import { hashTextHex } from '../hash.ts';
import { QUERY_LIMIT_MAX } from '../limits.ts';
import { isSequenceNumber } from '../position.ts';
import type { GroupValue } from '../state/group-key.ts';
import { type Asked, badRequest, type QueryProblem } from './query-problem.ts';
import { decodeToken, type SnapshotToken } from './snapshot-token.ts';

/** Parameters of a request, in order; a name may repeat. */
export type Parameters = readonly (readonly [name: string, value: string])[];

export interface RowOrder {
  readonly aggregate: number;
  /** Of a quantile: which of its ranks; otherwise null. */
  readonly rank: string | null;
  readonly descending: boolean;
}

export interface ViewRequest {
  readonly view: ViewPlan;
  /** By index in the plan. */
  readonly viewIndex: number;
  /** By group field: the value that rows must have; undefined takes all. */
  readonly key: readonly (GroupValue | undefined)[];
  /** Text that the first group field without a wanted value must begin with. */
  readonly prefix: string | null;
  /** Window starts in [startMs, endMs). */
  readonly startMs: number | null;
  readonly endMs: number | null;
  readonly order: RowOrder | null;
  readonly limit: number;
  readonly after: readonly { readonly shardId: string; readonly sequenceNumber: string }[];
  readonly next: SnapshotToken | null;
  readonly questionHash: string;
}

const LIMIT_DEFAULT = 100;
const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/;
const SINGLE = ['prefix', 'start', 'end', 'order', 'limit', 'next'] as const;

class Refused extends Error {
  readonly problem: QueryProblem;

  constructor(problem: QueryProblem) {
    super(problem.detail);
    this.problem = problem;
  }
}

export function parseViewRequest(
  plan: Plan,
  viewName: string,
  parameters: Parameters,
): Asked<ViewRequest> {
  try {
    return { ok: true, value: parse(plan, viewName, parameters) };
  } catch (error) {
    if (error instanceof Refused) return { ok: false, problem: error.problem };
    throw error;
  }
}

function parse(plan: Plan, viewName: string, parameters: Parameters): ViewRequest {
  const viewIndex = plan.views.findIndex(({ name }) => name === viewName);
  const view = plan.views[viewIndex];
  if (view === undefined) throw new Refused(noSuchView(plan, viewName));
  const single = new Map<string, string>();
  const key: (GroupValue | undefined)[] = view.groupBy.map(() => undefined);
  const after: ViewRequest['after'][number][] = [];
  for (const [name, value] of parameters) {
    if (name === 'after') after.push(parseAfter(value));
    else if (name.startsWith('key.')) setKey(view, key, name, value);
    else if (!(SINGLE as readonly string[]).includes(name)) refuseUnknown(name);
    else if (single.has(name)) {
      refuse('repeated-parameter', `${name} was given twice.`, name, 'it once', value);
    } else single.set(name, value);
  }
  const prefix = single.get('prefix') ?? null;
  if (prefix !== null && !key.includes(undefined)) {
    refuse(
      'no-field-for-prefix',
      `Every group field of '${view.name}' has a wanted value already, so there is none for prefix.`,
      'prefix',
      'a group field without key.{field}',
      prefix,
    );
  }
  return {
    view,
    viewIndex,
    key,
    prefix,
    startMs: parseTime(view, 'start', single.get('start')),
    endMs: parseTime(view, 'end', single.get('end')),
    order: parseOrder(view, single.get('order')),
    limit: parseLimit(single.get('limit')),
    after,
    next: parseNext(single.get('next')),
    questionHash: questionHash(viewName, parameters),
  };
}

function setKey(view: ViewPlan, key: (GroupValue | undefined)[], name: string, text: string): void {
  const field = name.slice('key.'.length);
  const index = view.groupBy.findIndex((group) => group.name === field);
  if (index < 0) {
    const fields = view.groupBy.map((group) => `key.${group.name}`).join(', ') || 'no key';
    refuse(
      'no-such-field',
      `View '${view.name}' is not grouped by '${field}'.`,
      name,
      fields,
      field,
    );
  }
  if (key[index] !== undefined) {
    refuse('repeated-parameter', `${name} was given twice.`, name, 'it once', text);
  }
  key[index] = parseKeyValue(name, text);
}

/** A JSON literal, or bare text as a string. */
function parseKeyValue(name: string, text: string): GroupValue {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  if (typeof value === 'number') {
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      refuse(
        'integer-too-large',
        `${name} is beyond 2^53, and no key is.`,
        name,
        'an integer within ±(2^53 − 1)',
        text,
      );
    }
    return value === 0 ? 0 : value;
  }
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  return refuse(
    'wrong-key',
    `${name} is no value that records are grouped by.`,
    name,
    'a string, number, boolean or null',
    text,
  );
}

function parseTime(view: ViewPlan, name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (view.window.kind === 'all') {
    refuse(
      'no-windows',
      `View '${view.name}' has no windows, so ${name} means nothing.`,
      name,
      'a view with windows',
      text,
    );
  }
  const timeMs = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(timeMs)) {
    refuse(
      'wrong-time',
      `${name} is no time.`,
      name,
      'ISO 8601 such as 2001-06-30 or 2001-06-30T12:00:00Z',
      text,
    );
  }
  return timeMs;
}

function parseOrder(view: ViewPlan, text: string | undefined): RowOrder | null {
  if (text === undefined) return null;
  const descending = text.startsWith('-');
  const wanted = descending ? text.slice(1) : text;
  for (const [aggregate, { name, kind, at }] of view.aggregates.entries()) {
    if (kind !== 'quantile' && name === wanted) return { aggregate, rank: null, descending };
    const rank = at.map(String).find((each) => `${name}.${each}` === wanted);
    if (rank !== undefined) return { aggregate, rank, descending };
  }
  const names = view.aggregates.flatMap(({ name, at }) =>
    at.length === 0 ? [name] : at.map((rank) => `${name}.${rank}`),
  );
  return refuse(
    'no-such-aggregate',
    `View '${view.name}' has no aggregate '${wanted}' to order by.`,
    'order',
    `${names.join(', ')}, with - before it for the largest first`,
    text,
  );
}

function parseLimit(text: string | undefined): number {
  if (text === undefined) return LIMIT_DEFAULT;
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= QUERY_LIMIT_MAX) return limit;
  return refuse(
    'wrong-limit',
    'limit is out of bounds.',
    'limit',
    `a whole number from 1 to ${QUERY_LIMIT_MAX}`,
    text,
  );
}

function parseAfter(text: string): ViewRequest['after'][number] {
  const [shardId = '', sequenceNumber = '', ...rest] = text.split(':');
  if (/^shardId-\d{12}$/.test(shardId) && isSequenceNumber(sequenceNumber) && rest.length === 0) {
    return { shardId, sequenceNumber };
  }
  return refuse(
    'wrong-after',
    'after names no record.',
    'after',
    'ShardId:SequenceNumber, as PutRecord answers them',
    text,
  );
}

function parseNext(text: string | undefined): SnapshotToken | null {
  if (text === undefined) return null;
  return (
    decodeToken(text) ??
    refuse(
      'wrong-next',
      'next is not what an answer gave.',
      'next',
      'the next of an earlier answer, whole',
      text.slice(0, 40),
    )
  );
}

function questionHash(view: string, parameters: Parameters): string {
  const asked = parameters.filter(
    ([name]) => name !== 'next' && name !== 'limit' && name !== 'after',
  );
  return hashTextHex(JSON.stringify([view, [...asked].sort()]));
}

function refuseUnknown(name: string): never {
  const known = ['key.{field}', 'after', ...SINGLE].join(', ');
  return refuse('unknown-parameter', `There is no parameter '${name}'.`, name, known, name);
}

function refuse(
  code: string,
  detail: string,
  path: string,
  expected: string,
  found: string,
): never {
  throw new Refused(badRequest(code, detail, { path, expected, found }));
}

function noSuchView(plan: Plan, name: string): QueryProblem {
  return {
    status: 404,
    title: 'Not Found',
    code: 'no-such-view',
    detail: `Pipeline '${plan.name}' has no view '${name}'.`,
    path: 'view',
    expected: plan.views.map((view) => view.name).join(', '),
    found: name,
  };
}
