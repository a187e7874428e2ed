/**
 * The quarantine as a reader sees it: the index, and what the newest deltas put aside and the index may not list yet.
 */
import { type QuarantinedRecord, type QuarantineIndex, quarantineId } from '../ports.ts';
import { type Asked, badRequest } from './query-problem.ts';
import type { SliceSnapshot } from './slice-reader.ts';
import type { Parameters } from './view-request.ts';

export interface QuarantineRequest {
  readonly after: string | null;
  readonly limit: number;
}

export interface QuarantineList {
  readonly records: readonly (QuarantinedRecord & { readonly id: string })[];
  readonly next: string | null;
}

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1_000;
/** Data of one answer, about: the last record may go beyond it. */
const ANSWER_BYTES = 2 * 1024 * 1024;

export function parseQuarantineRequest(parameters: Parameters): Asked<QuarantineRequest> {
  let after: string | null = null;
  let limit = LIMIT_DEFAULT;
  for (const [name, value] of parameters) {
    if (name === 'next') after = value;
    else if (name === 'limit' && /^\d+$/.test(value) && +value >= 1 && +value <= LIMIT_MAX)
      limit = +value;
    else if (name === 'limit') {
      const where = { path: name, expected: `a whole number from 1 to ${LIMIT_MAX}`, found: value };
      return { ok: false, problem: badRequest('wrong-limit', 'limit is out of bounds.', where) };
    } else {
      const where = { path: name, expected: 'limit, next', found: name };
      const detail = `There is no parameter '${name}'.`;
      return { ok: false, problem: badRequest('unknown-parameter', detail, where) };
    }
  }
  return { ok: true, value: { after, limit } };
}

export async function listQuarantine(
  { after, limit }: QuarantineRequest,
  snapshots: readonly SliceSnapshot[],
  index: QuarantineIndex,
): Promise<QuarantineList> {
  const byId = new Map<string, QuarantinedRecord>();
  for (const record of await index.list(after, limit + 1)) byId.set(quarantineId(record), record);
  for (const { head, checkpoint } of snapshots) {
    const { sliceId, shardId, timeline, epoch, planHash } = head;
    for (const entry of checkpoint.quarantined) {
      const record = { ...entry, sliceId, shardId, timeline, epoch, planHash };
      const id = quarantineId(record);
      if (after === null || id > after) byId.set(id, record);
    }
  }
  const all = [...byId].sort(([a], [b]) => (a < b ? -1 : 1));
  const records: (QuarantinedRecord & { id: string })[] = [];
  let byteLength = 0;
  for (const [id, record] of all) {
    if (records.length === limit || byteLength > ANSWER_BYTES) break;
    records.push({ ...record, id });
    byteLength += record.data.length;
  }
  return { records, next: records.length < all.length ? (records.at(-1)?.id ?? null) : null };
}
