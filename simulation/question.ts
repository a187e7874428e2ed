/**
 * What a reader may ask of a view besides all of it: keys, a prefix, a range of windows, records that must be in. Each part says
 * by itself, in plain code, which rows of the oracle it selects.
 */

import type { Head } from '../core/checkpoint/head.ts';
import type { ViewPlan } from '../core/definition/plan.ts';
import type { Random } from './random.ts';
import type { RecountRow } from './recount.ts';
import { calendarOf, windowAt } from './recount-time.ts';
import type { SimStream } from './sim-stream.ts';

type KeyValue = RecountRow['key'][number];

export interface Question {
  readonly parameters: readonly (readonly [name: string, value: string])[];
  readonly selects: (row: RecountRow) => boolean;
  /** Windows that start in [startMs, endMs) are asked for. */
  readonly startMs: number;
  readonly endMs: number;
  /** Records that must be in, by shard. */
  readonly after: readonly { readonly shardId: string; readonly sequenceNumber: string }[];
}

export const EVERYTHING: Question = {
  parameters: [],
  selects: () => true,
  startMs: Number.NEGATIVE_INFINITY,
  endMs: Number.POSITIVE_INFINITY,
  after: [],
};

const KEYS: readonly KeyValue[] = ['Ulm', 'Köln', 'Rom', 'L', 'x', null, 7, 1, 2, true];
const PREFIXES = ['', 'K', 'Kö', 'R', 'Ulm', 'L', 'z', '1', 'n', '-'];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Some of a view; often all of it. */
export function drawQuestion(
  view: ViewPlan,
  stream: SimStream,
  nowMs: number,
  random: Random,
): Question {
  if (random.chance(0.4)) return EVERYTHING;
  const parameters: [string, string][] = [];
  const key = view.groupBy.map(() => (random.chance(0.25) ? random.pick(KEYS) : undefined));
  const wanted: (readonly KeyValue[] | undefined)[] = key.map(() => undefined);
  for (const [index, value] of key.entries()) {
    if (value === undefined) continue;
    const { text, values } = random.chance(0.5) ? bare(value) : strict(value);
    parameters.push([`key.${view.groupBy[index]?.name}`, text]);
    wanted[index] = values;
  }
  const free = key.indexOf(undefined);
  const prefix = free >= 0 && random.chance(0.2) ? random.pick(PREFIXES) : null;
  if (prefix !== null) parameters.push(['prefix', prefix]);
  const range = view.window.kind === 'all' ? EVERYTHING : drawRange(nowMs, random);
  const { startMs, endMs } = range;
  if (Number.isFinite(startMs)) parameters.push(['start', new Date(startMs).toISOString()]);
  if (Number.isFinite(endMs)) parameters.push(['end', new Date(endMs).toISOString()]);
  const after = random.chance(0.2) ? drawAfter(stream, random) : [];
  for (const { shardId, sequenceNumber } of after) {
    parameters.push(['after', `${shardId}:${sequenceNumber}`]);
  }
  const selects = (row: RecountRow) =>
    wanted.every((values, index) => values?.includes(row.key[index] as KeyValue) ?? true) &&
    (prefix === null || beginsWith(row.key[free], prefix)) &&
    (row.windowStartMs === null || (row.windowStartMs >= startMs && row.windowStartMs < endMs));
  return { parameters, selects, startMs, endMs, after };
}

interface AskedKey {
  readonly text: string;
  /** One of them is what a row must have. */
  readonly values: readonly KeyValue[];
}

/** As a person writes it: what it spells, and the same as text. */
function bare(value: KeyValue): AskedKey {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { text, values: [value, text] };
}

function strict(value: KeyValue): AskedKey {
  const json = JSON.stringify(value);
  return { text: typeof value === 'string' ? json : `[${json}]`, values: [value] };
}

function beginsWith(value: KeyValue | undefined, prefix: string): boolean {
  const spelled = typeof value === 'string' ? value : JSON.stringify(value);
  return spelled?.startsWith(prefix) ?? false;
}

/** Around now mostly: there is little else. */
function drawRange(nowMs: number, random: Random): Pick<Question, 'startMs' | 'endMs'> {
  const { startMs, endMs } = EVERYTHING;
  const kind = random.below(4);
  if (kind === 0) return { startMs, endMs };
  const width = random.pick([10_000, 60_000, HOUR_MS, DAY_MS]);
  // Often on the boundary of a window.
  const boundary = Math.floor((nowMs - random.below(4) * width) / 10_000) * 10_000;
  const from = random.chance(0.5) ? boundary : boundary - random.below(10_000);
  if (kind === 1) return { startMs: from, endMs };
  if (kind === 2) return { startMs, endMs: from };
  return { startMs: from, endMs: from + 1 + random.below(width) };
}

function drawAfter(stream: SimStream, random: Random): Question['after'] {
  const shards = stream.shards.filter(({ log }) => log.length > 0 && random.chance(0.7));
  return shards.map(({ id, log }) => {
    // The newest ones are those that may not be in.
    const newest = log.slice(-10);
    return { shardId: id, sequenceNumber: random.pick(newest).sequenceNumber };
  });
}

/** True if each record of `after` is in the epochs. */
export function hasReached({ after }: Question, epochs: readonly Head[]): boolean {
  return after.every(({ shardId, sequenceNumber }) => {
    const head = epochs.find((each) => each.shardId === shardId);
    return head !== undefined && BigInt(head.cursor.sequenceNumber) >= BigInt(sequenceNumber);
  });
}

/** The start of the first window, and the end of the last one, that a question asks for. */
export function spanOf(
  { startMs, endMs }: Question,
  view: ViewPlan,
  zone: string,
): { readonly firstStartMs: number; readonly lastEndMs: number } {
  const calendar = calendarOf(zone);
  const first = Number.isFinite(startMs) ? windowAt(view.window, calendar, startMs) : null;
  const last = Number.isFinite(endMs) ? windowAt(view.window, calendar, endMs - 1) : null;
  const isFirst = first === null || first.startMs === startMs;
  return {
    firstStartMs: first === null ? startMs : isFirst ? first.startMs : first.endMs,
    lastEndMs: last === null ? endMs : last.endMs,
  };
}
