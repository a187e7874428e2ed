/**
 * The quarantine as readers see it where they are not those who run the pipeline: which records wait, and why. What producers
 * sent, and what quotes it, is on the admin side.
 */
import type { ListedRecord, QuarantineList } from '../../core/query/quarantine-list.ts';

/** By name, so that what is added to a record is not shown unless it is meant to be. */
const SHOWN = ['id', 'shardId', 'sequenceNumber', 'subSequence', 'reason', 'arrival'] as const;

type ReaderRecord = Pick<ListedRecord, (typeof SHOWN)[number]>;

export function withoutPayloads({ records, ...list }: QuarantineList) {
  return { records: records.map(withoutPayload), ...list };
}

function withoutPayload(record: ListedRecord): ReaderRecord {
  return Object.fromEntries(SHOWN.map((name) => [name, record[name]])) as ReaderRecord;
}
