/**
 * What is asked of a view: parameters, validated against the plan. Unknown ones are refused, never ignored.
 */
import { aggregateOf } from '../definition/kinds/aggregate-kinds.ts';
import { windowSpan } from '../definition/kinds/window-kinds.ts';
import type { Plan, ViewPlan } from '../definition/plan.ts';
import { hashTextHex } from '../hash.ts';
import { AFTER_COUNT_MAX, QUERY_LIMIT_DEFAULT, QUERY_LIMIT_MAX } from '../limits.ts';
import { type KeyPrefix, readKeyPrefix, readKeyValues, type WantedValues } from './key-values.ts';
import {
  type QueryParameters,
  type RecordAddress,
  readLimit,
  readRecordAddress,
  readTime,
} from './parameter-values.ts';
import {
  type Asked,
  asked,
  didYouMean,
  Refused,
  refuse,
  refuseRepeated,
  refuseUnknown,
} from './query-problem.ts';
import { decodeSnapshotToken, type SnapshotToken } from './snapshot-token.ts';

export interface RowOrder {
  /** By index of the view's aggregates. */
  readonly aggregate: number;
  /** Of a quantile: which of its ranks; otherwise null. */
  readonly rank: string | null;
  readonly descending: boolean;
}

export interface ViewRequest {
  readonly view: ViewPlan;
  /** By index in the plan. */
  readonly viewIndex: number;
  /** By group field: the values of which rows must have one; undefined takes all. */
  readonly key: readonly (WantedValues | undefined)[];
  /** What the first group field without wanted values must begin with. */
  readonly prefix: KeyPrefix | null;
  /** Windows that start in [startMs, endMs). */
  readonly startMs: number | null;
  readonly endMs: number | null;
  readonly order: RowOrder | null;
  readonly limit: number;
  /** Records that must be in before the answer counts as reached. */
  readonly after: readonly RecordAddress[];
  readonly next: SnapshotToken | null;
  readonly questionHash: string;
}

const SINGLE = ['prefix', 'start', 'end', 'order', 'limit', 'next'];
/** What may change from page to page of one question. */
const NOT_THE_QUESTION = new Set(['next', 'limit', 'after']);
const HASH_DIGITS = 16;

export function parseViewRequest(
  plan: Plan,
  viewName: string,
  parameters: QueryParameters,
): Asked<ViewRequest> {
  return asked(() => {
    const viewIndex = plan.views.findIndex(({ name }) => name === viewName);
    const view = plan.views[viewIndex];
    if (view === undefined) return refuseView(plan, viewName);
    return { viewIndex, ...parse(view, plan.zone, parameters) };
  });
}

function parse(
  view: ViewPlan,
  zone: string,
  parameters: QueryParameters,
): Omit<ViewRequest, 'viewIndex'> {
  const single = new Map<string, string>();
  const key: (WantedValues | undefined)[] = view.groupBy.map(() => undefined);
  const after: RecordAddress[] = [];
  for (const [name, value] of parameters) {
    if (name === 'after') after.push(readRecordAddress(value));
    else if (name.startsWith('key.')) readKey(view, key, name, value);
    else if (!SINGLE.includes(name)) refuseUnknown(name, knownParameters(view));
    else if (single.has(name)) refuseRepeated(name, value);
    else single.set(name, value);
  }
  if (after.length > AFTER_COUNT_MAX) {
    refuse('too-many-after', `after was given ${after.length} times.`, {
      path: 'after',
      expected: `at most ${AFTER_COUNT_MAX} records: of each shard the last one is enough`,
      found: String(after.length),
    });
  }
  const limit = single.get('limit');
  const range = readRange(view, zone, single.get('start'), single.get('end'));
  return {
    view,
    key,
    prefix: readPrefix(view, key, single.get('prefix')),
    ...range,
    order: readOrder(view, single.get('order')),
    limit: limit === undefined ? QUERY_LIMIT_DEFAULT : readLimit(limit, QUERY_LIMIT_MAX),
    after,
    next: readNext(single.get('next')),
    questionHash: questionHash(view, range, parameters),
  };
}

function knownParameters({ groupBy }: ViewPlan): string[] {
  return [...groupBy.map(({ name }) => `key.${name}`), ...SINGLE, 'after'];
}

function readKey(
  view: ViewPlan,
  key: (WantedValues | undefined)[],
  name: string,
  text: string,
): void {
  const field = name.slice('key.'.length);
  const index = view.groupBy.findIndex((group) => group.name === field);
  if (index < 0) {
    const fields = view.groupBy.map((group) => group.name);
    const detail = `View '${view.name}' is not grouped by '${field}'${didYouMean(field, fields)}`;
    const expected =
      fields.map((each) => `key.${each}`).join(', ') || 'no key: the view has one group';
    refuse('no-such-field', detail, { path: name, expected, found: name });
  }
  if (key[index] !== undefined) refuseRepeated(name, text);
  key[index] = readKeyValues(name, text);
}

function readPrefix(
  view: ViewPlan,
  key: readonly (WantedValues | undefined)[],
  text: string | undefined,
): KeyPrefix | null {
  if (text === undefined) return null;
  if (key.includes(undefined)) return readKeyPrefix('prefix', text);
  const why =
    key.length === 0 ? 'has no group field' : 'has a wanted value for every group field already';
  return refuse('no-field-for-prefix', `View '${view.name}' ${why}, so prefix has none.`, {
    path: 'prefix',
    expected: 'a group field that no key.{field} asks for: prefix goes with the first of them',
    found: text,
  });
}

type TimeRange = Pick<ViewRequest, 'startMs' | 'endMs'>;

function readRange(
  view: ViewPlan,
  zone: string,
  start: string | undefined,
  end: string | undefined,
): TimeRange {
  const read = (path: string, text: string | undefined): number | null => {
    if (text === undefined) return null;
    if (windowSpan(view.window) !== null) return readTime(path, text, zone);
    const detail = `View '${view.name}' has no windows: its rows are of all time.`;
    return refuse('no-windows', detail, { path, expected: `no ${path}`, found: text });
  };
  const startMs = read('start', start);
  const endMs = read('end', end);
  if (startMs !== null && endMs !== null && startMs >= endMs) {
    refuse('empty-range', 'No window starts before end and not before start.', {
      path: 'end',
      expected: `a time after start, which is ${start}`,
      found: end ?? '',
    });
  }
  return { startMs, endMs };
}

function readOrder(view: ViewPlan, text: string | undefined): RowOrder | null {
  if (text === undefined) return null;
  const descending = text.startsWith('-');
  const wanted = descending ? text.slice(1) : text;
  const orders = ordersOf(view);
  const found = orders.find(({ name }) => name === wanted);
  if (found !== undefined) return { aggregate: found.aggregate, rank: found.rank, descending };
  const names = orders.map(({ name }) => name);
  const whole = view.aggregates.findIndex(({ name }) => name === wanted);
  const isInRanks = orders.some(({ aggregate }) => aggregate === whole);
  const detail = isInRanks
    ? `'${wanted}' has a value for each of its ranks: name one of them.`
    : `View '${view.name}' has no aggregate '${wanted}' to order by${didYouMean(wanted, names)}`;
  const expected = `${names.join(', ')}; with - before it the largest come first`;
  return refuse('no-such-aggregate', detail, { path: 'order', expected, found: text });
}

interface NamedOrder extends Omit<RowOrder, 'descending'> {
  readonly name: string;
}

/** Whole aggregates come before ranks, so that one of any name can be asked for. */
function ordersOf(view: ViewPlan): NamedOrder[] {
  const whole: NamedOrder[] = [];
  const ranked: NamedOrder[] = [];
  for (const [aggregate, { name, kind, options }] of view.aggregates.entries()) {
    for (const rank of aggregateOf(kind).orders(options)) {
      if (rank === null) whole.push({ name, aggregate, rank });
      else ranked.push({ name: `${name}.${rank}`, aggregate, rank });
    }
  }
  return [...whole, ...ranked];
}

const FOUND_LENGTH_MAX = 40;

function readNext(text: string | undefined): SnapshotToken | null {
  if (text === undefined) return null;
  return (
    decodeSnapshotToken(text) ??
    refuse('wrong-next', 'next is not what an answer gave.', {
      path: 'next',
      expected: 'the whole next of an answer to this question',
      found: text.length > FOUND_LENGTH_MAX ? `${text.slice(0, FOUND_LENGTH_MAX)}…` : text,
    })
  );
}

/** `range` too: a change of zone gives the same text another meaning. */
function questionHash(view: ViewPlan, range: TimeRange, parameters: QueryParameters): string {
  const asking = parameters.filter(([name]) => !NOT_THE_QUESTION.has(name));
  const texts = asking.map((parameter) => JSON.stringify(parameter)).sort();
  return hashTextHex(JSON.stringify([view.name, view.hash, view.aggregates, range, texts])).slice(
    0,
    HASH_DIGITS,
  );
}

function refuseView(plan: Plan, name: string): never {
  const names = plan.views.map((view) => view.name);
  throw new Refused({
    status: 404,
    title: 'Not Found',
    code: 'no-such-view',
    detail: `Pipeline '${plan.name}' has no view '${name}'${didYouMean(name, names)}`,
    path: 'view',
    expected: names.join(', '),
    found: name,
  });
}
