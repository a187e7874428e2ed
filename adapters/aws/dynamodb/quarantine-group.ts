/**
 * An item of the quarantine: what one commit of a slice quarantined for one reason.
 *
 *   quarantine#<slice> / <timeline>/<the commit's last quarantined position>/<reason>
 *
 * Commits of one timeline follow each other by position, so sort keys are in the order of records' ids, commit by commit, and
 * the first key at or after a record's id is that of its commit. The records are an object (quarantine-object.ts) that only
 * this item names, or in the item itself where they are small. An item without records is of those that were purged.
 */
import { type QuarantinedPlace, quarantineId } from '../../../core/ports.ts';
import type { ItemKey } from './dynamo-table.ts';
import {
  bytesOf,
  bytesValue,
  type Item,
  numberOf,
  numberValue,
  textOf,
  textValue,
} from './item-values.ts';
import { keyOfText } from './key-text.ts';

export type GroupRecords =
  | { readonly kind: 'item'; readonly bytes: Uint8Array }
  | { readonly kind: 'object'; readonly key: string }
  | { readonly kind: 'purged' };

export interface QuarantineGroup
  extends Pick<
    QuarantinedPlace,
    'sliceId' | 'shardId' | 'timeline' | 'epoch' | 'reason' | 'planHash'
  > {
  readonly sk: string;
  /** Changes with each write of the item. */
  readonly version: number;
  readonly count: number;
  /** `sortablePosition` of the first and the last record that it had at first. */
  readonly first: string;
  readonly last: string;
  /** The earliest and the latest arrival, of those that it had at first. */
  readonly earliestMs: number;
  readonly latestMs: number;
  readonly metaOffset: number;
  readonly records: GroupRecords;
  /** An object that the item named before a purge; it may still be there. */
  readonly dropped: string | null;
}

export function groupKey({ sliceId, sk }: Pick<QuarantineGroup, 'sliceId' | 'sk'>): ItemKey {
  return { pk: quarantinePartition(sliceId), sk };
}

export function quarantinePartition(sliceId: string): string {
  return `quarantine#${keyOfText(sliceId)}`;
}

/** The sort key of a group whose commit ends with `last`. */
export function groupSortKey(last: QuarantinedPlace, reason: string): string {
  const id = quarantineId(last);
  return `${id.slice(last.sliceId.length + 1)}/${keyOfText(reason)}`;
}

/** What the groups of one commit have in common. */
export function commitOf({ sk }: QuarantineGroup): string {
  return sk.slice(0, sk.indexOf('/', sk.indexOf('/') + 1));
}

/** True if the group had a record at this position, or may have. */
export function mayHold(group: QuarantineGroup, position: string): boolean {
  return group.first <= position && position <= group.last;
}

export function toItem(group: QuarantineGroup): Item {
  const { pk, sk } = groupKey(group);
  const { records, dropped } = group;
  return {
    pk: { S: pk },
    sk: { S: sk },
    shardId: textValue(group.shardId),
    timeline: numberValue(group.timeline),
    epoch: numberValue(group.epoch),
    reason: textValue(group.reason),
    planHash: textValue(group.planHash),
    version: numberValue(group.version),
    count: numberValue(group.count),
    first: { S: group.first },
    last: { S: group.last },
    earliestMs: numberValue(group.earliestMs),
    latestMs: numberValue(group.latestMs),
    metaOffset: numberValue(group.metaOffset),
    ...(records.kind === 'item' ? { records: bytesValue(records.bytes) } : {}),
    ...(records.kind === 'object' ? { object: { S: records.key } } : {}),
    ...(dropped === null ? {} : { dropped: { S: dropped } }),
  };
}

export function toGroup(sliceId: string, item: Item): QuarantineGroup {
  return {
    sliceId,
    sk: textOf(item, 'sk'),
    shardId: textOf(item, 'shardId'),
    timeline: numberOf(item, 'timeline'),
    epoch: numberOf(item, 'epoch'),
    reason: textOf(item, 'reason'),
    planHash: textOf(item, 'planHash'),
    version: numberOf(item, 'version'),
    count: numberOf(item, 'count'),
    first: textOf(item, 'first'),
    last: textOf(item, 'last'),
    earliestMs: numberOf(item, 'earliestMs'),
    latestMs: numberOf(item, 'latestMs'),
    metaOffset: numberOf(item, 'metaOffset'),
    records: recordsOf(item),
    dropped: item['dropped'] === undefined ? null : textOf(item, 'dropped'),
  };
}

function recordsOf(item: Item): GroupRecords {
  if (item['records'] !== undefined) return { kind: 'item', bytes: bytesOf(item, 'records') };
  if (item['object'] !== undefined) return { kind: 'object', key: textOf(item, 'object') };
  return { kind: 'purged' };
}
