/**
 * Redriving: the requests of a slice's inbox, folded into its memory. A record folds if it waits in the ledger, and the
 * mark that it came back is committed with it: so once, however often a request is done.
 *
 * Work goes by rounds, each committed by itself and short, so that batches of new records go between two of them.
 */
import type { Head } from '../checkpoint/head.ts';
import { ledgerInRuns } from '../checkpoint/ledger-runs.ts';
import type { RunReference } from '../checkpoint/manifest.ts';
import type { RunCache } from '../checkpoint/run-cache.ts';
import { isFault } from '../faults.ts';
import { REDRIVE_BEGINNINGS_MAX } from '../limits.ts';
import {
  type Inbox,
  isQuarantineId,
  positionOfQuarantineId,
  type QuarantinedRecord,
  type QuarantineIndex,
  type RedriveOutcome,
  type RedriveRequest,
  timelineOfQuarantineId,
} from '../ports.ts';
import type { ClosedEntry } from '../state/closed-entries.ts';
import type { LedgerRecord } from '../state/quarantine-ledger.ts';
import type { FoldGuard } from './fold-guard.ts';
import type { OwnerMemory } from './owner-memory.ts';

export interface RedrivePorts {
  readonly inbox: Inbox;
  readonly quarantine: QuarantineIndex;
}

/** What a request came to so far. */
export interface RequestResult {
  readonly id: string;
  readonly redriven: string[];
  readonly refused: { readonly id: string; readonly reason: string }[];
}

export interface InboxWork {
  /** To be done on this timeline, in order. */
  readonly open: readonly RedriveRequest[];
  /** Done in an epoch that no fallback can undo. */
  readonly settled: readonly { readonly id: string; readonly done: RedriveOutcome }[];
}

const PAGE = 100;

/** Reads a slice's inbox. What a timeline before this one did is to be done again: it finds its marks, or their lack. */
export async function readInbox(head: Head, inbox: Inbox): Promise<InboxWork> {
  const open: RedriveRequest[] = [];
  const settled: { id: string; done: RedriveOutcome }[] = [];
  let after: string | null = null;
  for (;;) {
    const page = await inbox.list(head.sliceId, after, PAGE);
    for (const request of page) {
      const { done } = request;
      if (done === null || done.timeline !== head.timeline) open.push(request);
      else if (done.epoch < head.collectBelow) settled.push({ id: request.id, done });
    }
    if (page.length < PAGE) return { open, settled };
    after = page.at(-1)?.id ?? null;
  }
}

/** Forgets requests that no fallback can undo, and the bytes of what they brought back. */
export async function forgetSettled(
  head: Head,
  settled: InboxWork['settled'],
  { inbox, quarantine }: RedrivePorts,
): Promise<void> {
  if (settled.length === 0) return;
  const { sliceId, collectBelow } = head;
  // First what the requests name: they are not found again once they are gone.
  const ids = settled.flatMap(({ done }) => done.redriven);
  await quarantine.purge(sliceId, ids, collectBelow);
  await inbox.delete(
    sliceId,
    settled.map(({ id }) => id),
  );
}

export interface RoundParts extends RedrivePorts {
  readonly guard: FoldGuard;
  readonly runs: RunCache;
  /** How often each request was begun, of those that this invocation has begun and not ended. */
  readonly begun: Map<string, number>;
  /** The round has taken its time. */
  readonly isOver: () => boolean;
}

export interface RedriveRound {
  /** The requests that are decided as a whole, once the memory is committed. */
  readonly whole: readonly RequestResult[];
  /** Something came back. */
  readonly hasFolded: boolean;
  /** Requests, or a part of one, are left for the next round. */
  readonly isUnfinished: boolean;
}

/**
 * Folds what the requests name into the memory, until they end or the round is over; of the first request one record at
 * least. One that an owner began before, and did not end, may kill the next one too: it has a round of its own.
 */
export async function redriveRound(
  memory: OwnerMemory,
  requests: readonly RedriveRequest[],
  parts: RoundParts,
): Promise<RedriveRound> {
  const whole: RequestResult[] = [];
  let hasFolded = false;
  const end = (isUnfinished: boolean) => ({ whole, hasFolded, isUnfinished });
  for (const request of requests) {
    if (whole.length > 0 && parts.isOver()) return end(true);
    const beginnings = await beginRequest(request, parts);
    if (beginnings > 1 && whole.length > 0) return end(true);
    const { id } = request;
    if (beginnings > REDRIVE_BEGINNINGS_MAX) {
      whole.push(await giveUp(memory, request, parts));
      return end(request !== requests.at(-1));
    }
    const result: RequestResult = { id, redriven: [], refused: [] };
    for await (const [recordId, found] of recordsOf(request, parts.quarantine)) {
      if (hasFolded && parts.isOver()) return end(true);
      const answer = await redriveOne(memory, { id: recordId, found, requestId: id }, parts);
      if (answer === FOLDED) hasFolded = true;
      take(result, recordId, answer);
    }
    whole.push(result);
    if (beginnings > 1) return end(request !== requests.at(-1));
  }
  return end(false);
}

/** Writes down what became of the requests; `head` holds it. */
export async function finishRequests(
  head: Head,
  results: readonly RequestResult[],
  { inbox, begun }: Pick<RoundParts, 'inbox' | 'begun'>,
): Promise<void> {
  const { sliceId, timeline, epoch } = head;
  for (const { id, redriven, refused } of results) {
    const done: RedriveOutcome = { timeline, epoch, redriven, refused };
    await inbox.finish(sliceId, id, done);
    begun.delete(id);
  }
}

const FOLDED = Symbol('it folded');
/** Perhaps by this very request, whose owner died before it could say so. */
const CAME_BACK = Symbol('it came back before');
const GIVEN_UP =
  'owners died again and again while they did this request: ask for its records one by one';

type Answer = typeof FOLDED | typeof CAME_BACK | string;

function take({ redriven, refused }: RequestResult, id: string, answer: Answer): void {
  if (answer === FOLDED || answer === CAME_BACK) redriven.push(id);
  else refused.push({ id, reason: answer });
}

/** Folds and reads no bytes, which may be what kills. What earlier rounds of the request have committed came back all the same. */
async function giveUp(
  memory: OwnerMemory,
  { id, records }: RedriveRequest,
  { runs }: RoundParts,
): Promise<RequestResult> {
  const result: RequestResult = { id, redriven: [], refused: [] };
  for (const recordId of new Set(records)) {
    const entries = await ledgerEntries(memory, recordId, runs);
    const answer =
      typeof entries === 'string' ? entries : inLedger(memory, recordId, entries, GIVEN_UP);
    take(result, recordId, answer);
  }
  return result;
}

async function beginRequest(
  { id, sliceId }: RedriveRequest,
  { begun, inbox }: RoundParts,
): Promise<number> {
  const beginnings = begun.get(id) ?? (await inbox.begin(sliceId, id));
  begun.set(id, beginnings);
  return beginnings;
}

/** Records that are read at once: each may be as large as a record gets. */
const READ_AT_ONCE = 25;

type Found = QuarantinedRecord | 'purged' | undefined;

/** What a request names, each once, with what the quarantine has of it. */
async function* recordsOf(
  { records }: RedriveRequest,
  quarantine: QuarantineIndex,
): AsyncGenerator<[id: string, found: Found]> {
  const ids = [...new Set(records)];
  for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
    const some = ids.slice(at, at + READ_AT_ONCE);
    const found = await quarantine.read(some);
    for (const id of some) yield [id, found.get(id)];
  }
}

interface Asked {
  readonly id: string;
  readonly found: Found;
  readonly requestId: string;
}

/** What became of a record; a text says why it did not come back. */
async function redriveOne(
  memory: OwnerMemory,
  { id, found, requestId }: Asked,
  { guard, runs, begun }: RoundParts,
): Promise<Answer> {
  const entries = await ledgerEntries(memory, id, runs);
  if (typeof entries === 'string') return entries;
  if (found === undefined || found === 'purged') return inLedger(memory, id, entries, PURGED);
  try {
    const result = guard.redrive(found, memory.state, entries);
    switch (result.outcome) {
      case 'redriven':
        return FOLDED;
      case 'came-back':
        return CAME_BACK;
      case 'not-put-aside':
        return 'its slice has not quarantined it, on the timeline that counts';
      case 'still-bad':
        return `refused again (${result.bad.reason}): ${result.bad.detail}`;
    }
  } catch (fault) {
    // Not enough memory, say: that goes on counting, or the request would be begun for ever.
    if (isFault(fault)) begun.delete(requestId);
    throw fault;
  }
}

const UNREADABLE = 'a run that may say whether it came back already cannot be read';
const PURGED = 'it was purged: its bytes are no longer kept';
const UNKNOWN = 'there is no such record in the quarantine';

/** What the ledger alone says of a record that is not folded now; `waits` if it waits for a redrive. */
function inLedger(
  { head, state }: OwnerMemory,
  id: string,
  stored: readonly ClosedEntry[],
  waits: string,
): typeof CAME_BACK | string {
  if (timelineOfQuarantineId(id) > head.timeline) return UNKNOWN;
  const { waiting, cameBack } = state.ledgerStanding(recordOf(head, id), stored);
  if (waiting.length > 0) return waits;
  return cameBack ? CAME_BACK : UNKNOWN;
}

/** A record's entries in the ledger's runs; a text says why they cannot be told. */
async function ledgerEntries(
  { head, checkpoint }: OwnerMemory,
  id: string,
  runs: RunCache,
): Promise<readonly ClosedEntry[] | string> {
  if (!isQuarantineId(id) || !id.startsWith(`${head.sliceId}/`)) return UNKNOWN;
  const readerOf = (run: RunReference) => runs.reader(head.sliceId, run);
  const found = await ledgerInRuns(recordOf(head, id), checkpoint.manifest.runs, readerOf);
  return found.damaged.length > 0 ? UNREADABLE : found.entries;
}

/** The record behind an id of the slice. */
function recordOf({ shardId }: Head, id: string): LedgerRecord {
  return { shardId, ...positionOfQuarantineId(id) };
}
