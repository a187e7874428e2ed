/**
 * Asking for a redrive: what is wanted back from the quarantine becomes durable requests in the inboxes of the slices'
 * owners, who answer there. Nothing is folded here.
 */
import { REDRIVE_IDS_MAX, REDRIVE_REQUEST_IDS_MAX } from '../limits.ts';
import {
  type CheckpointStore,
  type Clock,
  type Inbox,
  isQuarantineId,
  type NonceSource,
  requestId,
} from '../ports.ts';
import type { Queries } from './queries.ts';
import { type Asked, asked, guarded, refuse } from './query-problem.ts';

/** Which records are wanted back. */
export type RedriveSelection = { readonly ids: readonly string[] } | { readonly reason: string };

/** What was asked: requests that are in inboxes, and what is no slice's. */
export interface AskedRedrive {
  readonly requests: readonly { readonly sliceId: string; readonly id: string }[];
  readonly refused: RedriveSummary['refused'];
}

export interface RedriveSummary {
  readonly redriven: readonly string[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
  /** Not done yet: their owners do it when they can. */
  readonly pending: readonly string[];
}

export interface RedrivePorts {
  readonly heads: CheckpointStore;
  readonly inbox: Inbox;
  readonly clock: Clock;
  readonly nonces: NonceSource;
}

/** Ids that differ in their last digit only sort between an id without it and the id. */
const HEX_DIGITS = 16;

const BODY = {
  path: 'body',
  expected: 'an object such as {"ids": ["…"]} or {"reason": "wrong-type"}',
};

/** The selection in a request's body. */
export function parseRedrive(body: unknown): Asked<RedriveSelection> {
  return asked(() => {
    const found = describe(body);
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      return refuse('wrong-body', 'The body says which records to redrive.', { ...BODY, found });
    }
    const { ids, reason, ...others } = body as Record<string, unknown>;
    const [other] = Object.keys(others);
    if (other !== undefined) {
      return refuse('unknown-property', `There is no property '${other}'.`, {
        path: other,
        expected: 'ids or reason',
        found: other,
      });
    }
    if ((ids === undefined) === (reason === undefined)) {
      return refuse('wrong-body', 'Give ids or a reason, one of them.', { ...BODY, found });
    }
    if (reason !== undefined) return { reason: readReason(reason) };
    return { ids: readIds(ids) };
  });
}

export class Redrives {
  readonly #queries: Queries;
  readonly #ports: RedrivePorts;

  /** `queries` say what waits in the quarantine: their images are warm. */
  constructor(queries: Queries, ports: RedrivePorts) {
    this.#queries = queries;
    this.#ports = ports;
  }

  /** Puts requests into the inboxes of slices, for at most `REDRIVE_IDS_MAX` records. */
  async ask(selection: RedriveSelection): Promise<Asked<AskedRedrive>> {
    if ('ids' in selection) return guarded(() => this.#put(selection.ids));
    const ids = await this.#queries.quarantinedIds(selection.reason, REDRIVE_IDS_MAX);
    return ids.ok ? guarded(() => this.#put(ids.value)) : ids;
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
    const refused: { id: string; reason: string }[] = [];
    for (const [sliceId, wanted] of bySlice) {
      if (!known.has(sliceId)) {
        for (const id of wanted) refused.push({ id, reason: `there is no slice ${sliceId}` });
        continue;
      }
      for (let at = 0; at < wanted.length; at += REDRIVE_REQUEST_IDS_MAX) {
        const records = wanted.slice(at, at + REDRIVE_REQUEST_IDS_MAX);
        const id = requestId(clock.nowMs(), nonces.nonce());
        await inbox.put({ id, sliceId, records, done: null });
        requests.push({ sliceId, id });
      }
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
    return { redriven, refused, pending };
  }
}

function readReason(reason: unknown): string {
  if (typeof reason === 'string' && reason !== '') return reason;
  return refuse('wrong-reason', 'reason is a word that the quarantine lists.', {
    path: 'reason',
    expected: 'text such as "wrong-type"',
    found: describe(reason),
  });
}

function readIds(ids: unknown): readonly string[] {
  const isList = Array.isArray(ids) && ids.length > 0 && ids.length <= REDRIVE_IDS_MAX;
  if (!isList) {
    return refuse('wrong-ids', 'ids are those of quarantined records.', {
      path: 'ids',
      expected: `a list of 1 to ${REDRIVE_IDS_MAX} ids, as GET /v1/quarantine has them`,
      found: Array.isArray(ids) ? `a list of ${ids.length}` : describe(ids),
    });
  }
  for (const [index, id] of ids.entries()) {
    if (typeof id === 'string' && isQuarantineId(id)) continue;
    refuse('wrong-id', `ids[${index}] is no id of a quarantined record.`, {
      path: `ids[${index}]`,
      expected: 'an id as GET /v1/quarantine has it: slice/timeline/position',
      found: describe(id),
    });
  }
  return ids as string[];
}

function describe(value: unknown): string {
  const text = shownJson(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** What is nested too deep to be written has no text. */
export function shownJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch {
    return typeof value;
  }
}
