/**
 * What became of the requests to redrive, once nothing goes wrong any more: each is done on the timeline that is, and says of each
 * record what the oracle says.
 */
import type { Head } from '../core/checkpoint/head.ts';
import type { Inbox } from '../core/ports.ts';
import type { Auditor } from './auditor.ts';
import { positionOfId } from './lineage.ts';
import { recordId } from './recount.ts';

const REQUESTS_MAX = 1_000;

/** Requests that are left to do on the timeline that is. */
export async function undoneCount({ sliceId, timeline }: Head, inbox: Inbox): Promise<number> {
  const requests = await inbox.list(sliceId, null, REQUESTS_MAX);
  return requests.filter(({ done }) => done?.timeline !== timeline).length;
}

/** What is wrong with a slice's requests; null if nothing. */
export async function differenceOfRequests(
  head: Head,
  inbox: Inbox,
  auditor: Auditor,
): Promise<string | null> {
  const { redriven: outcomes, quarantined } = auditor.recountAt(head);
  const cameBack = new Set<string>();
  /** Asked again on a new timeline, and a run that tells cannot be read: better refused than folded twice. */
  const refused = new Set<string>();
  for (const { done } of await inbox.list(head.sliceId, null, REQUESTS_MAX)) {
    for (const record of done?.redriven ?? []) cameBack.add(recordId(positionOfId(record)));
    for (const { id, reason } of done?.refused ?? []) {
      const record = recordId(positionOfId(id));
      if (reason.includes('cannot be read')) refused.add(record);
      const waits = quarantined.has(record) && !outcomes.has(record);
      if (waits && reason.includes('has not quarantined it'))
        return `${record} waits, and was refused`;
    }
  }
  for (const record of cameBack) {
    const outcome = outcomes.get(record);
    if (outcome === undefined || outcome === 'quarantined') return `${record} did not come back`;
  }
  for (const [record, outcome] of outcomes) {
    if (outcome === 'quarantined' || cameBack.has(record) || refused.has(record)) continue;
    // Requests are deleted once their epoch is older than what is kept.
    if (head.collectBelow === 0) return `${record} came back, and no request says so`;
  }
  return null;
}
