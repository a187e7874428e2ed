/**
 * Which quarantined records a command means: ids, or a reason and bounds of arrival; and a call for as many as one request
 * takes, again and again until nothing is left.
 */
import { Option } from 'commander';
import { UsageError } from './usage-error.ts';

export interface ChoiceOptions {
  readonly reason?: string;
  readonly from?: string;
  readonly to?: string;
}

export function reasonOption(): Option {
  return new Option('--reason <reason>', 'records that were quarantined for this reason');
}

export function fromOption(): Option {
  return new Option(
    '--from <time>',
    "records that arrived at this time or later (ISO 8601; without an offset in the pipeline's zone)",
  );
}

export function toOption(): Option {
  return new Option('--to <time>', 'records that arrived before this time');
}

/** The body of the first request. */
export function choiceOf(ids: readonly string[], { reason, from, to }: ChoiceOptions): object {
  const selection = { ...given({ reason }), ...given({ from }), ...given({ to }) };
  const isSelection = Object.keys(selection).length > 0;
  if (isSelection !== (ids.length === 0)) {
    throw new UsageError(
      "name ids, or at least one of --reason, --from and --to; 'tidemark quarantine' lists them",
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
