/**
 * What `tidemark dev` says: lines for a person, or one JSON object a line for a program.
 */
import { describeFate } from '../core/definition/view-fate.ts';
import { describeEndedRollbacks } from '../core/task/kept-plans.ts';
import type { PlanChange } from '../core/task/plan-activation.ts';
import type { RuntimeEvent } from '../runtime/runtime-event.ts';
import { countText } from './count-text.ts';

/** `RuntimeEvent`s, and what the command itself has to tell. */
export type DevEvent =
  | RuntimeEvent
  | {
      readonly kind: 'ready';
      readonly pipeline: string;
      readonly url: string;
      readonly shards: number;
      readonly environments: number;
      readonly restoredRecords: number;
    }
  /** The pipeline file changed in its words only. */
  | { readonly kind: 'plan-unchanged'; readonly path: string }
  /** The pipeline file changed and cannot be used: the plan that ran before stays active. */
  | { readonly kind: 'reload-failed'; readonly path: string; readonly message: string };

export interface DevOutput {
  tell(event: DevEvent): void;
  /** For a person only. */
  say(lines: readonly string[]): void;
}

/** With `toStderr` standard output stays free for the command that runs beside it. */
export function devOutput(json: boolean, toStderr: boolean): DevOutput {
  const print = (text: string) => (toStderr ? console.error(text) : console.log(text));
  if (json) return { tell: (event) => print(jsonOf(event)), say: () => {} };
  return {
    tell: (event) => tellText(event, print),
    say: (lines) => print(lines.join('\n')),
  };
}

function jsonOf(event: DevEvent): string {
  const { kind, ...rest } = event;
  const error = 'error' in rest ? { error: String(rest.error) } : {};
  return JSON.stringify({ event: kind, ...rest, ...error });
}

function tellText(event: DevEvent, print: (text: string) => void): void {
  switch (event.kind) {
    case 'ready':
      print(describeReady(event));
      return;
    case 'replaying':
      print(`replaying ${countText(event.records, 'record')} that no checkpoint holds yet`);
      return;
    case 'replayed':
      print(`replayed ${countText(event.records, 'record')}, ${event.ms} ms after the start`);
      return;
    case 'plan-activated':
      print(describeChange(event));
      return;
    case 'plan-unchanged':
      print(`${event.path} changed, but not in what it means`);
      return;
    case 'reload-failed':
      console.error(`${event.message}\n  the pipeline that ran before goes on running`);
      return;
    case 'rewound':
      print(
        `${event.sliceId} went back to epoch ${event.epoch}, and is on timeline ${event.timeline} now; what came since was folded again`,
      );
      return;
    case 'parts-lost':
      console.error(
        `${event.sliceId} lost ${countText(event.count, 'stored part')} of its open state, which no epoch can do without: it goes on without the rows that only they had.\n  Answers name these rows under 'damaged', and are not complete where they are asked for. To have all rows, restore the data folder from a backup, or fold the records again into an empty one`,
      );
      return;
    case 'invocation-failed':
    case 'tick-failed':
      console.error(describeFailure(event));
      return;
    case 'request-failed':
    case 'trim-failed':
    case 'heartbeat-failed':
      console.error(event.error);
      return;
  }
}

function describeReady(event: Extract<DevEvent, { kind: 'ready' }>): string {
  const { pipeline, url, shards, environments, restoredRecords } = event;
  const counts = `${countText(shards, 'shard')}, ${countText(environments, 'environment')}`;
  const known =
    restoredRecords === 0 ? '' : `, ${countText(restoredRecords, 'record')} in checkpoints`;
  return `tidemark dev: pipeline ${pipeline} is ready at ${url} (${counts}${known})`;
}

function describeChange({
  ordinal,
  hash,
  previousHash,
  differences,
  views,
  policies,
  endedRollbacks,
}: PlanChange): string {
  const ended = describeEndedRollbacks(endedRollbacks);
  const from = `plan ${ordinal} (${hash.slice(0, 8)}) takes the place of ${previousHash.slice(0, 8)}`;
  return [
    `the pipeline changed: ${from}`,
    ...differences.map((line) => `  ${line}`),
    'what becomes of its views:',
    ...[...views.map(describeFate), ...policies, ...ended].map((line) => `  ${line}`),
  ].join('\n');
}

type FailureEvent = Extract<DevEvent, { kind: 'invocation-failed' | 'tick-failed' }>;

function describeFailure(event: FailureEvent): string {
  const { name, message, hint, stack } = event.failure;
  const isExpected = name.endsWith('Fault') && name !== 'InvariantFault';
  const what = isExpected ? `${name}: ${message}` : (stack ?? message);
  return [
    `${event.shardId}: ${what}`,
    ...(hint === null ? [] : [`  ${hint}`]),
    event.kind === 'tick-failed'
      ? '  it is tried again every few seconds, and told once'
      : `  nothing is lost; the batch comes again in ${event.retryInMs} ms`,
  ].join('\n');
}
