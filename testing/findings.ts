/**
 * What a simulation may find, and how the findings of several seeds become one: the first seed that showed it, the most that
 * it cost, and a setting that would have been enough for all of them.
 */
import type { Plan } from '../core/definition/plan.ts';
import { isoText } from '../core/time/iso-text.ts';
import { durationOf } from './round-duration.ts';

export type FindingKind =
  /** Came after its window had closed, under `late: "drop"` or `late: "side"`. */
  | 'late-dropped'
  | 'late-aside'
  /** Was too far ahead of its arrival for `time.skew`. */
  | 'too-far-ahead'
  /** Was before `time.earliest`: mostly a number of another unit. */
  | 'too-far-back'
  /** Sent twice and counted twice: ids were kept too short, in another shard, or not at all. */
  | 'counted-twice'
  | 'counted-twice-across-shards'
  | 'counted-twice-without-dedupe'
  /** A shard that has fallen silent keeps windows open. */
  | 'held-open'
  /** Goes to quarantine whenever it comes. */
  | 'unreadable'
  /** Tidemark itself did not keep a promise. */
  | 'promise-broken';

/** What one seed shows of one kind, in one view. */
export interface Observation {
  readonly kind: FindingKind;
  /** Null where all views are meant. */
  readonly view: string | null;
  /** Tells apart what is one finding each, such as reasons. */
  readonly detail: string;
  readonly seed: number;
  /** Records that are missing, or counted once too often, each once; of `held-open` those in windows that stay open. */
  readonly records: number;
  /** Of them that came again, since a producer sent them twice. */
  readonly copies: number;
  /** Of the setting that is named in the advice: the least that would have been enough. */
  readonly neededMs: number | null;
  /** The first record of it, from 1 in the input. */
  readonly firstRecord: number | null;
  /** What is wrong with that one, where the quarantine says so. */
  readonly example: string | null;
}

/** Tidemark itself was wrong. */
export function brokenPromise(detail: string, seed: number): Observation {
  return {
    kind: 'promise-broken',
    view: null,
    detail,
    seed,
    records: 0,
    copies: 0,
    neededMs: null,
    firstRecord: null,
    example: null,
  };
}

export interface Finding {
  readonly kind: FindingKind;
  readonly view: string | null;
  /** Records that it costs in the seed where it costs most, each once. */
  readonly records: number;
  /** Of them that came again in that seed, since a producer sent them twice. */
  readonly copies: number;
  /** Rows of the view whose answer is another than it should be, in that seed, for whatever reason; null for all views. */
  readonly rows: number | null;
  /** The first seed that shows it, and how many do. */
  readonly seed: number;
  readonly seedCount: number;
  readonly firstRecord: number | null;
  /** What the detail of that record in the quarantine says; null where it does not get there, or lies there as late. */
  readonly example: string | null;
  readonly neededMs: number | null;
  /** What happens and why, in one sentence. */
  readonly why: string;
  readonly advice: string;
}

/** `wrongRows` by seed and view. Ordered by what it costs. */
export function findingsOf(
  plan: Plan,
  observations: readonly Observation[],
  wrongRows: ReadonlyMap<string, number>,
): Finding[] {
  const groups = new Map<string, Observation[]>();
  for (const each of observations) {
    const key = JSON.stringify([each.kind, each.view, each.detail]);
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  const findings = [...groups.values()].map((group): Finding => {
    const [first] = group as [Observation];
    const most = group.reduce((a, b) => (b.records > a.records ? b : a), first);
    const needed = group.map(({ neededMs }) => neededMs).filter((each) => each !== null);
    const neededMs = needed.length === 0 ? null : Math.max(...needed);
    const { kind, view } = first;
    return {
      kind,
      view,
      records: most.records,
      copies: most.copies,
      rows: view === null ? null : (wrongRows.get(`${most.seed} ${view}`) ?? 0),
      seed: first.seed,
      seedCount: new Set(group.map(({ seed }) => seed)).size,
      firstRecord: first.firstRecord,
      example: first.example,
      neededMs,
      ...explain(plan, { ...most, neededMs }),
    };
  });
  return findings.sort((a, b) => rankOf(a) - rankOf(b) || b.records - a.records);
}

function rankOf({ kind }: Finding): number {
  return kind === 'promise-broken' ? 0 : kind === 'unreadable' ? 2 : 1;
}

function explain(
  plan: Plan,
  { kind, view, detail, records, copies, neededMs }: Observation,
): { why: string; advice: string } {
  const needed = durationOf(neededMs ?? 0);
  const lateness = durationOf(plan.latenessMs);
  const isOne = records === 1;
  const counted = isOne ? '1 record' : `${records.toLocaleString('en-US')} records`;
  const lie = isOne ? 'lies' : 'lie';
  const are = isOne ? 'is' : 'are';
  const count = isOne ? 'counts' : 'count';
  const again = copies === 0 ? '' : ` (and ${copiesText(copies)} of ${isOne ? 'it' : 'them'})`;
  switch (kind) {
    case 'late-dropped':
    case 'late-aside':
      return {
        why: `${counted}${again} came after ${isOne ? 'its' : 'their'} window had closed (lateness is ${lateness}) and ${
          kind === 'late-aside'
            ? `${lie} in the quarantine`
            : isOne
              ? 'was dropped'
              : 'were dropped'
        }`,
        advice: `"lateness": "${needed}" would have kept all of them; "late": "update" counts them whenever they come`,
      };
    case 'too-far-ahead':
      return {
        why: `${counted}${again} ${are} more than ${durationOf(plan.skewMs ?? 0)} ahead of ${isOne ? 'its' : 'their'} arrival (time.skew) and ${lie} in the quarantine`,
        advice: `"skew": "${needed}" would have let all of them in; "none" is for replayed history`,
      };
    case 'too-far-back': {
      const earliestMs = plan.earliestMs ?? 0;
      return {
        why: `${counted}${again} ${are} before ${isoText(earliestMs)} (time.earliest) and ${lie} in the quarantine`,
        advice: `see whether "unit" in "time" is theirs: seconds that are read as milliseconds are of January 1970; "earliest": "${isoText(earliestMs - (neededMs ?? 0))}" would have let all of them in`,
      };
    }
    case 'counted-twice':
      return {
        why: `${counted} came again after ${isOne ? 'its' : 'their'} id was forgotten (dedupe.within is ${durationOf(plan.dedupe?.withinMs ?? 0)}) and ${count} twice`,
        advice: `"within": "${needed}" would have known all of them`,
      };
    case 'counted-twice-across-shards':
      return {
        why: `${counted} came again in another shard, where ${isOne ? 'its' : 'their'} id is not known, and ${count} twice`,
        advice: 'choose a partition key that is the same whenever the id is',
      };
    case 'counted-twice-without-dedupe':
      return {
        why: `${counted} ${isOne ? 'was' : 'were'} sent again by a producer that had no answer, and ${count} twice`,
        advice: 'a "dedupe" with an id that the producer sets counts each of them once',
      };
    case 'held-open':
      return {
        why: `${detail} has had no record for ${needed} when the others end, so windows with ${counted} do not close`,
        advice:
          plan.skewMs === null && plan.time !== null
            ? 'put records of all times into all shards: with "skew": "none" nothing else says that time has passed'
            : '"idle" in "time" closes windows of silent shards, by heartbeats',
      };
    case 'unreadable':
      return {
        why: `${counted}${again} cannot be counted (${detail}) and ${lie} in the quarantine`,
        advice: `put them into 'npx tidemark dev' and see 'npx tidemark quarantine' for what is wrong with each`,
      };
    case 'promise-broken':
      return {
        why: `Tidemark gave a wrong answer or failed${view === null ? '' : ` in ${view}`}: ${detail}`,
        advice: 'this is a bug of Tidemark: please report it with the seed',
      };
  }
}

function copiesText(copies: number): string {
  return copies === 1
    ? '1 copy that a retry sent'
    : `${copies.toLocaleString('en-US')} copies that retries sent`;
}
