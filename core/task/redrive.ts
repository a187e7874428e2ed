/**
 * Redriving: the requests of a slice's inbox, folded into its memory. A record folds if it waits in the ledger, and the
 * mark that it came back is committed with it: so once, however often a request is done.
 */
import { type BlobStores, readBlobRange } from '../checkpoint/blobs.ts';
import type { Head } from '../checkpoint/head.ts';
import { ledgerInRuns } from '../checkpoint/ledger-runs.ts';
import type { RunReference } from '../checkpoint/manifest.ts';
import { RunReader } from '../checkpoint/run.ts';
import { REDRIVE_BEGINNINGS_MAX } from '../limits.ts';
import type { Inbox, QuarantineIndex, RedriveOutcome, RedriveRequest } from '../ports.ts';
import type { Position } from '../position.ts';
import type { ClosedEntry } from '../state/slice-image.ts';
import type { FoldGuard } from './fold-guard.ts';
import type { Memory } from './slice-memory.ts';

export interface RedrivePorts {
  readonly inbox: Inbox;
  readonly quarantine: QuarantineIndex;
  readonly blobs: BlobStores;
}

/** What a request came to; the epoch is known once the memory is committed. */
export interface RequestResult {
  readonly id: string;
  readonly redriven: string[];
  readonly refused: { readonly id: string; readonly reason: string }[];
}

export interface InboxWork {
  /** To be done on this timeline, in order. */
  readonly open: readonly RedriveRequest[];
  /** Done in an epoch that no fallback can undo. */
  readonly settled: readonly string[];
}

const PAGE = 100;

/** Reads a slice's inbox. What a timeline before this one did is to be done again: it finds its marks, or their lack. */
export async function readInbox(head: Head, inbox: Inbox): Promise<InboxWork> {
  const open: RedriveRequest[] = [];
  const settled: string[] = [];
  let after: string | null = null;
  for (;;) {
    const page = await inbox.list(head.sliceId, after, PAGE);
    for (const request of page) {
      const { done } = request;
      if (done === null || done.timeline !== head.timeline) open.push(request);
      else if (done.epoch < head.collectBelow) settled.push(request.id);
    }
    if (page.length < PAGE) return { open, settled };
    after = page.at(-1)?.id ?? null;
  }
}

/** A request, and how often owners began it. */
export interface BegunRequest {
  readonly request: RedriveRequest;
  readonly beginnings: number;
}

/**
 * Which of the requests are done now. One that an owner began before and did not end may kill whoever does it, and is done
 * alone. `begun` holds what this invocation has counted.
 */
export async function beginRequests(
  requests: readonly RedriveRequest[],
  begun: Map<string, number>,
  inbox: Inbox,
): Promise<BegunRequest[]> {
  const chosen: BegunRequest[] = [];
  for (const request of requests) {
    const { id, sliceId } = request;
    const beginnings = begun.get(id) ?? (await inbox.begin(sliceId, id));
    begun.set(id, beginnings);
    if (beginnings === 1) chosen.push({ request, beginnings });
    else return chosen.length > 0 ? chosen : [{ request, beginnings }];
  }
  return chosen;
}

/** Folds what the requests name into the memory. */
export async function redrive(
  memory: Memory,
  requests: readonly BegunRequest[],
  ports: RedrivePorts,
  guard: FoldGuard,
): Promise<RequestResult[]> {
  const ledger = new LedgerRuns(memory, ports.blobs);
  const results: RequestResult[] = [];
  for (const { request, beginnings } of requests) {
    const { id, records } = request;
    const result: RequestResult = { id, redriven: [], refused: [] };
    results.push(result);
    if (beginnings > REDRIVE_BEGINNINGS_MAX) {
      for (const recordId of records) result.refused.push({ id: recordId, reason: GIVEN_UP });
      continue;
    }
    for (const recordId of new Set(records)) {
      const reason = await redriveOne(memory, recordId, ledger, ports.quarantine, guard);
      if (reason === null) result.redriven.push(recordId);
      else result.refused.push({ id: recordId, reason });
    }
  }
  return results;
}

/** Writes down what became of the requests; `head` holds it. */
export async function finishRequests(
  head: Head,
  results: readonly RequestResult[],
  inbox: Inbox,
): Promise<void> {
  const { sliceId, timeline, epoch } = head;
  for (const { id, redriven, refused } of results) {
    const done: RedriveOutcome = { timeline, epoch, redriven, refused };
    await inbox.finish(sliceId, id, done);
  }
}

const GIVEN_UP =
  'owners failed again and again while they did this request: ask for its records one by one';

/** Null if the record came back, by this request or another one; otherwise why not. */
async function redriveOne(
  memory: Memory,
  id: string,
  ledger: LedgerRuns,
  quarantine: QuarantineIndex,
  guard: FoldGuard,
): Promise<string | null> {
  const record = await quarantine.get(id);
  if (record === null || record.sliceId !== memory.head.sliceId) {
    return 'there is no such record in the quarantine';
  }
  // Once more: the bytes may only have come badly, and a refusal is final.
  const stored = (await ledger.entriesOf(record)) ?? (await ledger.entriesOf(record));
  if (stored === null) return 'a run that may say whether it came back already cannot be read';
  const result = guard.redrive(record, memory.state, stored);
  switch (result.outcome) {
    case 'redriven':
      return null;
    case 'came-back':
      // Perhaps by this very request, whose owner died before it could say so.
      return null;
    case 'not-put-aside':
      return 'its slice has not put it aside, on the timeline that counts';
    case 'still-bad':
      return `it is still bad: ${result.bad.reason}: ${result.bad.detail}`;
  }
}

/** The ledger's entries in runs, those of one record at a time. */
class LedgerRuns {
  readonly #readers: ReadonlyMap<RunReference, RunReader>;

  constructor({ head, checkpoint }: Memory, blobs: BlobStores) {
    this.#readers = new Map(
      checkpoint.manifest.runs.map((run) => {
        const read = (from: number, to: number) =>
          readBlobRange(blobs, head.sliceId, run, from, to);
        return [run, new RunReader(head.sliceId, run, read)];
      }),
    );
  }

  /** Null where a run is damaged: that is no reason to hold up the slice. */
  async entriesOf(position: Position): Promise<readonly ClosedEntry[] | null> {
    const readerOf = (run: RunReference) => this.#readers.get(run) as RunReader;
    const { entries, damaged } = await ledgerInRuns(position, [...this.#readers.keys()], readerOf);
    return damaged.length > 0 ? null : entries;
  }
}
