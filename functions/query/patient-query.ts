/**
 * Waiting for the records of `after`: what HEADs say is looked at again and again, which costs little; then the question is
 * asked once more. Where the function is asked over a wire, the one who waits is at this end of it.
 */
import { compareSequenceNumbers } from '../../core/position.ts';
import { readRecordAddress } from '../../core/query/parameter-values.ts';
import type { PipelineStatus } from '../../core/query/status.ts';
import type { UrlResult } from '../function-url.ts';
import type { QueryEvent, QueryHandler } from './handler.ts';

export interface Patience {
  /** How long a request waits, and between two looks. */
  readonly waitMsMax?: number;
  readonly waitStepMs?: number;
  /** No caller waits for the answer any more. */
  readonly isGone?: () => boolean;
  /** How far each shard's slice is: sequence numbers by shard; null if that cannot be said now. */
  readonly cursors?: () => Promise<ReadonlyMap<string, string> | null>;
}

const WAIT_MS_MAX = 10_000;
const WAIT_STEP_MS = 50;

/** `ask`'s answer; where it has not reached the records of `after`, the one after waiting for them. */
export async function askPatiently(
  ask: QueryHandler,
  event: QueryEvent,
  patience: Patience = {},
): Promise<UrlResult> {
  const first = await ask(event);
  const parameters = new URLSearchParams(event.rawQueryString);
  // A snapshot that `next` pins never reaches what it has not.
  if (!hasNotReached(first) || parameters.has('next')) return first;
  await waitFor(parameters, ask, patience);
  return ask(event);
}

/** Until the records of `after` are in, time is over, or no caller waits any more. */
async function waitFor(
  parameters: URLSearchParams,
  ask: QueryHandler,
  patience: Patience,
): Promise<void> {
  const { waitMsMax = WAIT_MS_MAX, waitStepMs = WAIT_STEP_MS, isGone = () => false } = patience;
  const { cursors = () => cursorsOfStatus(ask) } = patience;
  const after = parameters.getAll('after').map(readRecordAddress);
  const endMs = performance.now() + waitMsMax;
  while (!isGone() && performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, waitStepMs));
    const cursorOf = await cursors();
    if (cursorOf === null) return;
    // A shard without a slice has folded nothing yet; one that the stream does not have was refused.
    const reached = after.every(({ shardId, sequenceNumber }) => {
      return compareSequenceNumbers(cursorOf.get(shardId) ?? '0', sequenceNumber) >= 0;
    });
    if (reached) return;
  }
}

async function cursorsOfStatus(ask: QueryHandler): Promise<ReadonlyMap<string, string> | null> {
  const { statusCode, body } = await ask(STATUS);
  if (statusCode !== 200) return null;
  const { slices } = JSON.parse(body) as PipelineStatus;
  return new Map(slices.map(({ shardId, cursor }) => [shardId, cursor]));
}

const STATUS: QueryEvent = {
  rawPath: '/v1/status',
  rawQueryString: '',
  requestContext: { http: { method: 'GET' } },
};

// What stands before the rows is ours: a row's own field may have any name.
function hasNotReached({ body }: UrlResult): boolean {
  return body.slice(0, body.indexOf('"rows":')).includes('"reached":false,');
}
