/**
 * The quarantine in DynamoDB and the object store: one item for each commit and reason, and one object that it names, however
 * many records there are. The object is written first, under a name made from its bytes: a crash between the two leaves an
 * object that the repeat of `put` finds.
 *
 * A purge writes an object of what remains, has the item name that one and remember the old one, then deletes the old one: a
 * purge that is repeated finishes what one before began.
 */
import { createHash } from 'node:crypto';
import { assert } from '../../../core/assert.ts';
import { encodeText } from '../../../core/bytes.ts';
import { CorruptStateFault, TransientFault } from '../../../core/faults.ts';
import { DELTA_ITEM_BYTES_MAX } from '../../../core/limits.ts';
import {
  ALL_QUARANTINED,
  type BlobStore,
  isQuarantineId,
  isSelected,
  type QuarantinedPlace,
  type QuarantinedRecord,
  type QuarantineIndex,
  type QuarantineSelection,
  quarantineId,
} from '../../../core/ports.ts';
import { compareRecords, sortablePosition } from '../../../core/position.ts';
import { QuarantinePage } from '../../quarantine-page.ts';
import {
  dataOf,
  decodeEntries,
  encodeQuarantineObject,
  type ObjectEntry,
} from '../quarantine-object.ts';
import type { DynamoTable, KeyRange } from './dynamo-table.ts';
import { numberValue } from './item-values.ts';
import { FIRST_KEY, justAfter, keyOfText, LAST_KEY } from './key-text.ts';
import {
  commitOf,
  groupKey,
  groupSortKey,
  mayHold,
  type QuarantineGroup,
  quarantinePartition,
  toGroup,
  toItem,
} from './quarantine-group.ts';
import { SliceDirectory } from './slice-directory.ts';

const DIRECTORY = 'quarantine-slices';
/** Items of one answer of a query: some commits with all of their reasons. */
const PAGE = 50;
/** The same where one commit is looked for: it seldom has more reasons. */
const PAGE_OF_ONE = 8;
/** Objects that are kept after they were read: those of one commit for each of its reasons, at least. */
const RECENT_BYTES_MAX = 24 * 1024 * 1024;

/** A record where it lies: in which group, and where there. */
interface Located {
  readonly group: QuarantineGroup;
  readonly entry: ObjectEntry;
}

export class DynamoQuarantineIndex implements QuarantineIndex {
  readonly #table: DynamoTable;
  readonly #objects: BlobStore;
  readonly #directory: SliceDirectory;
  /** Objects that were read last, whole, the oldest first: a name says what its bytes are. */
  readonly #recent = new Map<string, Uint8Array>();

  /** `objects` keeps the records. */
  constructor(table: DynamoTable, objects: BlobStore) {
    this.#table = table;
    this.#objects = objects;
    this.#directory = new SliceDirectory(table, DIRECTORY);
  }

  async put(records: readonly QuarantinedRecord[]): Promise<void> {
    const [first] = records;
    if (first === undefined) return;
    const { sliceId, timeline, epoch } = first;
    const isOneCommit = records.every(
      (each) => each.sliceId === sliceId && each.timeline === timeline && each.epoch === epoch,
    );
    assert(isOneCommit, 'a-put-is-one-commit');
    const last = [...records].sort(compareRecords).at(-1) as QuarantinedRecord;
    const groups = [...new Set(records.map(({ reason }) => reason))].map((reason) => {
      // Encoded before the first call: the caller's bytes may change.
      const mine = records.filter((record) => record.reason === reason);
      return { group: newGroup(mine, last), encoded: encodeQuarantineObject(mine) };
    });
    await this.#directory.enter(sliceId);
    for (const { group, encoded } of groups) {
      const what = 'keep quarantined records';
      // What was purged must not be brought back, not even as an object that nothing names.
      if ((await this.#table.get(what, groupKey(group))) !== null) continue;
      const stored = await this.#store(group, encoded);
      await this.#table.create(what, toItem(stored));
    }
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, QuarantinedRecord | 'purged'>> {
    const found = new Map<string, QuarantinedRecord | 'purged'>();
    for (const [commit, mine] of await this.#commitsOf(ids.filter(isQuarantineId))) {
      const located = new Map<string, Located>();
      for (const group of commit) {
        for (const entry of await this.#entriesOf(group)) {
          located.set(sortablePosition(entry), { group, entry });
        }
      }
      for (const id of mine) {
        const at = located.get(positionIn(id));
        if (at !== undefined) found.set(id, await this.#recordAt(at));
        else if (commit.some((group) => group.version > 0 && mayHold(group, positionIn(id)))) {
          found.set(id, 'purged');
        }
      }
    }
    return found;
  }

  async list(after: string | null, limit: number): Promise<QuarantinedRecord[]> {
    const page = new QuarantinePage(limit);
    for await (const located of this.#located(after, ALL_QUARANTINED)) {
      page.add(await this.#recordAt(located));
      if (page.isFull) break;
    }
    return page.records;
  }

  async describe(
    after: string | null,
    limit: number,
    selection: QuarantineSelection,
  ): Promise<QuarantinedPlace[]> {
    assert(limit > 0, 'list-limit-is-positive');
    const places: QuarantinedPlace[] = [];
    for await (const located of this.#located(after, selection)) {
      places.push(placeOf(located));
      if (places.length === limit) break;
    }
    return places;
  }

  async purge(sliceId: string, ids: readonly string[], forgetBelow: number): Promise<void> {
    const mine = ids.filter((id) => isQuarantineId(id) && sliceOf(id) === sliceId);
    for (const [commit, doomed] of await this.#commitsOf(mine)) {
      const positions = new Set(doomed.map(positionIn));
      for (const group of commit) await this.#purge(group, positions, forgetBelow);
    }
  }

  /** Takes records out of a group: what remains is written anew, so that no byte of the others is kept. */
  async #purge(
    group: QuarantineGroup,
    positions: ReadonlySet<string>,
    forgetBelow: number,
  ): Promise<void> {
    let now = await this.#dropOld(group);
    const entries = await this.#entriesOf(now);
    const left = entries.filter((entry) => !positions.has(sortablePosition(entry)));
    if (left.length < entries.length) {
      const records: QuarantinedRecord[] = [];
      for (const entry of left) records.push(await this.#recordAt({ group: now, entry }));
      const before = now.records;
      const dropped = before.kind === 'object' ? before.key : null;
      const next = { ...now, count: left.length, dropped };
      const stored: QuarantineGroup =
        left.length === 0
          ? { ...next, records: { kind: 'purged' } }
          : await this.#store(next, encodeQuarantineObject(records));
      now = await this.#dropOld(await this.#replace(stored));
      this.#recent.clear();
    }
    if (now.records.kind === 'purged' && now.epoch < forgetBelow) {
      await this.#table.delete('forget purged records', groupKey(now));
    }
  }

  /** Deletes the object that a purge has left behind. */
  async #dropOld(group: QuarantineGroup): Promise<QuarantineGroup> {
    if (group.dropped === null) return group;
    await this.#objects.delete([group.dropped]);
    return this.#replace({ ...group, dropped: null });
  }

  /** Writes an item again if no other writer has changed it since it was read. */
  async #replace(group: QuarantineGroup): Promise<QuarantineGroup> {
    const next = { ...group, version: group.version + 1 };
    const put = await this.#table.putIf('purge quarantined records', toItem(next), {
      ConditionExpression: '#version = :version',
      ExpressionAttributeNames: { '#version': 'version' },
      ExpressionAttributeValues: { ':version': numberValue(group.version) },
    });
    if (put.outcome === 'applied') return next;
    throw new TransientFault('another purge of the same records is under way', {
      hint: 'ask again: what both purge is purged once',
    });
  }

  /** Where the records of a group are to be kept; an object is there when this returns. */
  async #store(
    group: QuarantineGroup,
    { bytes, metaOffset }: ReturnType<typeof encodeQuarantineObject>,
  ): Promise<QuarantineGroup> {
    if (bytes.length <= DELTA_ITEM_BYTES_MAX) {
      return { ...group, metaOffset, records: { kind: 'item', bytes } };
    }
    const key = objectKey(group, bytes);
    await this.#objects.create(key, bytes);
    return { ...group, metaOffset, records: { kind: 'object', key } };
  }

  /** The selected records of all slices, ordered by id, those after `after` only. */
  async *#located(after: string | null, selection: QuarantineSelection): AsyncGenerator<Located> {
    const sliceIds = await this.#directory.list();
    // Ids sort by slice and slash: `slice-1/…` comes after `slice-1-0/…`.
    sliceIds.sort((a, b) => (`${a}/` < `${b}/` ? -1 : 1));
    for (const sliceId of sliceIds) {
      const range = rangeAfter(sliceId, after ?? '');
      if (range === null) continue;
      for await (const commit of this.#commits(sliceId, range)) {
        const located: Located[] = [];
        for (const group of commit.filter((each) => mayHaveSelected(each, selection))) {
          for (const entry of await this.#entriesOf(group)) located.push({ group, entry });
        }
        located.sort((a, b) => compareRecords(a.entry, b.entry));
        for (const each of located) {
          const place = placeOf(each);
          const isAhead = after === null || quarantineId(place) > after;
          if (isAhead && isSelected(place, selection)) yield each;
        }
      }
    }
  }

  /** The commits of these records, each with the ids that may be of it. */
  async #commitsOf(ids: readonly string[]): Promise<Map<readonly QuarantineGroup[], string[]>> {
    const commits = new Map<readonly QuarantineGroup[], string[]>();
    let commit: readonly QuarantineGroup[] = [];
    for (const id of [...new Set(ids)].sort()) {
      const [first] = commit;
      const place = id.slice(sliceOf(id).length + 1);
      const isOfLast =
        first !== undefined &&
        first.sliceId === sliceOf(id) &&
        place <= commitOf(first) &&
        commits.has(commit);
      if (!isOfLast) commit = (await this.#commitFrom(id)) ?? [];
      if (commit.length > 0) commits.set(commit, [...(commits.get(commit) ?? []), id]);
    }
    return commits;
  }

  /** The first commit that ends at or after a record's id. */
  async #commitFrom(id: string): Promise<readonly QuarantineGroup[] | null> {
    const range = rangeFrom(sliceOf(id), id);
    for await (const commit of this.#commits(sliceOf(id), range, PAGE_OF_ONE)) return commit;
    return null;
  }

  async *#commits(
    sliceId: string,
    range: KeyRange,
    limit = PAGE,
  ): AsyncGenerator<readonly QuarantineGroup[]> {
    let commit: QuarantineGroup[] = [];
    for await (const item of this.#table.query('read the quarantine', range, { limit })) {
      const group = toGroup(sliceId, item);
      const [first] = commit;
      if (first !== undefined && commitOf(first) !== commitOf(group)) {
        yield commit;
        commit = [];
      }
      commit.push(group);
    }
    if (commit.length > 0) yield commit;
  }

  async #entriesOf(group: QuarantineGroup): Promise<ObjectEntry[]> {
    const { records, metaOffset } = group;
    if (records.kind === 'purged') return [];
    return decodeEntries((await this.#bytesOf(group)).subarray(metaOffset), nameOf(group));
  }

  async #recordAt({ group, entry }: Located): Promise<QuarantinedRecord> {
    return {
      ...placeOf({ group, entry }),
      data: dataOf(await this.#bytesOf(group), entry, nameOf(group)),
    };
  }

  async #bytesOf(group: QuarantineGroup): Promise<Uint8Array> {
    const { records } = group;
    if (records.kind === 'item') return records.bytes;
    assert(records.kind === 'object', 'purged-records-are-not-read');
    const { key } = records;
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const bytes = await this.#objects.read(key);
    if (bytes === null) {
      throw new CorruptStateFault(`the records of a quarantine's item are gone: ${key}`, {
        hint: 'something deleted the object: bring back its last version, or delete the item that names it',
      });
    }
    this.#recent.set(key, bytes);
    let byteLength = 0;
    for (const [name, each] of [...this.#recent].reverse()) {
      byteLength += each.length;
      if (byteLength > RECENT_BYTES_MAX && name !== key) this.#recent.delete(name);
    }
    return bytes;
  }
}

function newGroup(records: readonly QuarantinedRecord[], last: QuarantinedRecord): QuarantineGroup {
  const sorted = [...records].sort(compareRecords);
  const [first, end] = [sorted[0], sorted.at(-1)] as [QuarantinedRecord, QuarantinedRecord];
  assert(isQuarantineId(quarantineId(first)), 'a-quarantine-id-is-one');
  const arrivals = records.map(({ arrivalMs }) => arrivalMs);
  const { sliceId, shardId, timeline, epoch, reason, planHash } = first;
  return {
    ...{ sliceId, shardId, timeline, epoch, reason, planHash },
    sk: groupSortKey(last, reason),
    version: 0,
    count: records.length,
    first: sortablePosition(first),
    last: sortablePosition(end),
    earliestMs: arrivals.reduce((a, b) => Math.min(a, b)),
    latestMs: arrivals.reduce((a, b) => Math.max(a, b)),
    metaOffset: 0,
    records: { kind: 'purged' },
    dropped: null,
  };
}

function mayHaveSelected(group: QuarantineGroup, { reason, fromMs, toMs }: QuarantineSelection) {
  if (reason !== null && group.reason !== reason) return false;
  return (
    (fromMs === null || group.latestMs >= fromMs) && (toMs === null || group.earliestMs < toMs)
  );
}

function placeOf({ group, entry }: Located): QuarantinedPlace {
  const { sliceId, shardId, timeline, epoch, reason, planHash } = group;
  const { sequenceNumber, subSequence, partitionKey, arrivalMs, detail } = entry;
  return {
    ...{ sliceId, shardId, timeline, epoch, reason, planHash },
    ...{ sequenceNumber, subSequence, partitionKey, arrivalMs, detail },
  };
}

/** The items of a slice whose records' ids may come after `after`; null if none can. */
function rangeAfter(sliceId: string, after: string): KeyRange | null {
  const begin = `${sliceId}/`;
  if (after.startsWith(begin)) return rangeFrom(sliceId, after);
  const pk = quarantinePartition(sliceId);
  return begin > after ? { pk, from: FIRST_KEY, to: LAST_KEY } : null;
}

/** The items of a slice whose commits end at or after an id of the slice. */
function rangeFrom(sliceId: string, id: string): KeyRange {
  const from = justAfter(keyOfText(id.slice(sliceId.length + 1)));
  return { pk: quarantinePartition(sliceId), from, to: LAST_KEY };
}

function sliceOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}

/** The `sortablePosition` in an id. */
function positionIn(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}

function nameOf({ records, sliceId, epoch }: QuarantineGroup): string {
  return records.kind === 'object'
    ? `the quarantine object ${records.key}`
    : `what epoch ${epoch} of ${sliceId} quarantined`;
}

/** Of its item's key and its bytes: a repeat writes the same, and no two items name one object. */
function objectKey(group: QuarantineGroup, bytes: Uint8Array): string {
  const { pk, sk } = groupKey(group);
  const name = encodeText(`${pk} ${sk} `);
  return `quarantine/${createHash('sha256').update(name).update(bytes).digest('hex')}`;
}
