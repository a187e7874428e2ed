/**
 * Asking for a redrive: what is wanted back from the quarantine becomes durable requests in the inboxes of the slices'
 * owners, who answer there. Nothing is folded here.
 */
import { REDRIVE_IDS_MAX, REDRIVE_REQUEST_IDS_MAX } from '../limits.ts';
import {
  type CheckpointStore,
  type Clock,
  type Inbox,
  type NonceSource,
  type RedriveRequest,
  requestId,
} from '../ports.ts';
import { nextOfChoice, type RecordChoice } from './quarantine-body.ts';
import type { Queries } from './queries.ts';
import { type Asked, guarded } from './query-problem.ts';

/** What was asked: requests that are in inboxes, and what is no slice's. */
export interface AskedRedrive {
  readonly requests: readonly { readonly sliceId: string; readonly id: string }[];
  readonly refused: RedriveSummary['refused'];
  /** More is selected than one call takes: what the next call's body has as `next`. */
  readonly next?: string;
}

export interface RedriveSummary {
  readonly redriven: readonly string[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
  /** Not done yet: their owners do it when they can. */
  readonly pending: readonly string[];
  /** See `AskedRedrive`. */
  readonly next?: string;
}

export interface RedrivePorts {
  readonly heads: CheckpointStore;
  readonly inbox: Inbox;
  readonly clock: Clock;
  readonly nonces: NonceSource;
}

/** Ids that differ in their last digit only sort between an id without it and the id. */
const HEX_DIGITS = 16;
/** Requests that are written at once. */
const PUT_AT_ONCE = 10;

export class Redrives {
  readonly #queries: Queries;
  readonly #ports: RedrivePorts;

  /** `queries` say what waits in the quarantine: their images are warm. */
  constructor(queries: Queries, ports: RedrivePorts) {
    this.#queries = queries;
    this.#ports = ports;
  }

  /** Puts requests into the inboxes of slices, for at most `REDRIVE_IDS_MAX` records. */
  async ask(choice: RecordChoice): Promise<Asked<AskedRedrive>> {
    if ('ids' in choice) return guarded(() => this.#put(choice.ids));
    const { selection, after } = choice;
    const ids = await this.#queries.quarantinedIds(selection, after, REDRIVE_IDS_MAX);
    if (!ids.ok) return ids;
    const last = ids.value.at(-1);
    const isFull = ids.value.length === REDRIVE_IDS_MAX && last !== undefined;
    return guarded(async () => ({
      ...(await this.#put(ids.value)),
      ...(isFull ? { next: nextOfChoice(last) } : {}),
    }));
  }

  async #put(ids: readonly string[]): Promise<AskedRedrive> {
    const bySlice = new Map<string, string[]>();
    for (const id of new Set(ids)) {
      const sliceId = id.slice(0, id.indexOf('/'));
      bySlice.set(sliceId, [...(bySlice.get(sliceId) ?? []), id]);
    }
    const { inbox, clock, nonces } = this.#ports;
    const known = new Set((await this.#ports.heads.listHeads()).map(({ sliceId }) => sliceId));
    const requests: { sliceId: string; id: string }[] = [];
    const puts: RedriveRequest[] = [];
    const refused: { id: string; reason: string }[] = [];
    for (const [sliceId, wanted] of bySlice) {
      if (!known.has(sliceId)) {
        for (const id of wanted) refused.push({ id, reason: `there is no slice ${sliceId}` });
        continue;
      }
      for (let at = 0; at < wanted.length; at += REDRIVE_REQUEST_IDS_MAX) {
        const records = wanted.slice(at, at + REDRIVE_REQUEST_IDS_MAX);
        const id = requestId(clock.nowMs(), nonces.nonce());
        puts.push({ id, sliceId, records, done: null });
        requests.push({ sliceId, id });
      }
    }
    for (let at = 0; at < puts.length; at += PUT_AT_ONCE) {
      await Promise.all(puts.slice(at, at + PUT_AT_ONCE).map((request) => inbox.put(request)));
    }
    return { requests, refused };
  }

  /** What became of the requests so far. */
  async outcome(asked: AskedRedrive): Promise<RedriveSummary> {
    const redriven: string[] = [];
    const refused = [...asked.refused];
    const pending: string[] = [];
    for (const { sliceId, id } of asked.requests) {
      const near = await this.#ports.inbox.list(sliceId, id.slice(0, -1), HEX_DIGITS);
      const request = near.find((each) => each.id === id);
      // Done so long ago that its slice has deleted it.
      if (request === undefined) continue;
      if (request.done === null) pending.push(...request.records);
      else {
        redriven.push(...request.done.redriven);
        refused.push(...request.done.refused);
      }
    }
    const { next } = asked;
    return { redriven, refused, pending, ...(next === undefined ? {} : { next }) };
  }
}
