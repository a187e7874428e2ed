/**
 * Which quarantined records a command means: ids, or a reason and bounds of arrival; and a call for as many as one request
 * takes, again and again until nothing is left.
 */
import { type Command, Option } from 'commander';
import {
  adminUrlOption,
  awsOption,
  jsonOption,
  queryUrlOption,
  regionOption,
} from './option-values.ts';
import type { AdminPlaceOptions } from './query-place.ts';
import { UsageError } from './usage-error.ts';

export interface ChoiceOptions {
  readonly reason?: string;
  readonly from?: string;
  readonly to?: string;
}

/** What each command about the quarantine takes. */
export interface QuarantineOptions extends AdminPlaceOptions, ChoiceOptions {
  readonly json?: boolean;
}

/** Adds the options by which records are chosen, and those that say where they are. */
export function withChoiceOptions(command: Command): Command {
  return command
    .addOption(new Option('--reason <reason>', 'records that were quarantined for this reason'))
    .addOption(
      new Option(
        '--from <time>',
        "records that arrived at this time or later (ISO 8601; without an offset in the pipeline's zone)",
      ),
    )
    .addOption(new Option('--to <time>', 'records that arrived before this time'))
    .addOption(queryUrlOption())
    .addOption(adminUrlOption())
    .addOption(awsOption())
    .addOption(regionOption())
    .addOption(jsonOption());
}

/** What is selected by reason and arrival: what was given of it. */
export function selectionOf({ reason, from, to }: ChoiceOptions): Record<string, string> {
  return { ...given({ reason }), ...given({ from }), ...given({ to }) };
}

/** The body of the first request. */
export function choiceOf(ids: readonly string[], options: ChoiceOptions): object {
  const selection = selectionOf(options);
  const isSelection = Object.keys(selection).length > 0;
  if (isSelection !== (ids.length === 0)) {
    throw new UsageError(
      "name ids, or at least one of --reason, --from and --to; 'npx tidemark quarantine' lists them",
    );
  }
  return isSelection ? selection : { ids };
}

/** The answers to a body, until one of them has no `next`. */
export async function* inPages<Answer extends { readonly next?: string }>(
  body: object,
  ask: (body: object) => Promise<Answer>,
): AsyncGenerator<Answer> {
  let asked = body;
  for (;;) {
    const answer = await ask(asked);
    yield answer;
    if (answer.next === undefined) return;
    asked = { ...body, next: answer.next };
  }
}

function given(option: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(option).filter((each): each is [string, string] => each[1] !== undefined),
  );
}
