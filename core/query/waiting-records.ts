/**
 * The records that wait in the quarantine: what the index lists, and what the newest delta of each slice quarantined, which the
 * index may not list yet. HEADs are read before the index, so that nothing falls between the two; what the index lists of
 * epochs after those HEADs is left for the next look. The slice's ledger has the last word: what came back is not listed,
 * nor what only a timeline that ended quarantined.
 */
import { ledgerInRuns } from '../checkpoint/ledger-runs.ts';
import type { Manifest, RunReference } from '../checkpoint/manifest.ts';
import type { RunCache } from '../checkpoint/run-cache.ts';
import { CorruptStateFault } from '../faults.ts';
import {
  isQuarantineId,
  isSelected,
  positionOfQuarantineId,
  type QuarantinedPlace,
  type QuarantinedRecord,
  type QuarantineIndex,
  type QuarantineSelection,
  quarantineId,
  timelineOfQuarantineId,
} from '../ports.ts';
import { sortablePosition } from '../position.ts';
import type { ClosedEntry } from '../state/closed-entries.ts';
import { ledgerStanding } from '../state/ledger-standing.ts';
import type { LedgerRecord } from '../state/quarantine-ledger.ts';
import type { RecentLedger } from '../state/recent-ledger.ts';
import { type DamagedRun, DamagedRuns } from './damaged-runs.ts';
import type { RecordChoice } from './quarantine-body.ts';
import type { SliceSnapshot } from './slice-reader.ts';

/** What is read. `slices` are as their HEADs said just now. */
export interface QuarantineSources {
  readonly slices: readonly SliceSnapshot[];
  readonly index: QuarantineIndex;
  readonly runs: RunCache;
}

/** Every selected record that waits in the quarantine, by id, those after `after` only. */
export function quarantinedRecords(
  after: string | null,
  selection: QuarantineSelection,
  sources: QuarantineSources,
  onDamage: (run: DamagedRun) => void,
): AsyncGenerator<QuarantinedRecord> {
  const { index } = sources;
  if (Object.values(selection).some((bound) => bound !== null)) {
    // The bytes of those that are not selected may be many.
    return withBytes(quarantinedPlaces(after, selection, sources, onDamage), index);
  }
  const read = (last: string | null) => index.list(last, CHUNK);
  return recordsIn(waitingRecords(after, sources, { read, selects: () => true, onDamage }));
}

async function* withBytes(
  places: AsyncGenerator<QuarantinedPlace | QuarantinedRecord>,
  index: QuarantineIndex,
): AsyncGenerator<QuarantinedRecord> {
  let chunk: (QuarantinedPlace | QuarantinedRecord)[] = [];
  const read = async () => {
    const found = await index.read(chunk.map(quarantineId));
    const records = chunk.map((place) =>
      'data' in place ? place : found.get(quarantineId(place)),
    );
    chunk = [];
    // One that was purged meanwhile has no bytes any more.
    return records.filter((record) => record !== undefined && record !== 'purged');
  };
  for await (const place of places) {
    chunk.push(place);
    if (chunk.length === CHUNK) yield* await read();
  }
  yield* await read();
}

/** The same without their bytes; those that only a delta has may have them. */
export function quarantinedPlaces(
  after: string | null,
  selection: QuarantineSelection,
  sources: QuarantineSources,
  onDamage: (run: DamagedRun) => void = () => {},
): AsyncGenerator<QuarantinedPlace | QuarantinedRecord> {
  return recordsIn(waitingPlaces(after, selection, sources, onDamage));
}

function waitingPlaces(
  after: string | null,
  selection: QuarantineSelection,
  sources: QuarantineSources,
  onDamage: (run: DamagedRun) => void,
): AsyncGenerator<Waiting<QuarantinedPlace>> {
  const read = (last: string | null) => sources.index.describe(last, PLACES_CHUNK, selection);
  const selects = (record: QuarantinedPlace) => isSelected(record, selection);
  return waitingRecords<QuarantinedPlace>(after, sources, { read, selects, onDamage });
}

async function* recordsIn<T extends QuarantinedPlace>(
  waiting: AsyncGenerator<Waiting<T>>,
): AsyncGenerator<T | QuarantinedRecord> {
  for await (const { record } of waiting) yield record;
}

/** A record that waits, or may wait. */
interface Waiting<T> {
  readonly record: T | QuarantinedRecord;
  readonly standing: WaitingStanding;
}

interface Reading<T> {
  /** The next that the index has. */
  readonly read: (after: string | null) => Promise<T[]>;
  readonly selects: (record: QuarantinedPlace) => boolean;
  readonly onDamage: (run: DamagedRun) => void;
}

async function* waitingRecords<T extends QuarantinedPlace>(
  after: string | null,
  sources: QuarantineSources,
  { read, selects, onDamage }: Reading<T>,
): AsyncGenerator<Waiting<T>> {
  const { slices, index } = sources;
  const ledgers = ledgersOf(sources, onDamage);
  const seen = new Set<string>();
  const pending = await notPurged(pendingRecords(slices, after).filter(selects), index);
  for await (const record of recordsInOrder(pending, indexed(after, slices, read))) {
    const ledger = ledgers.get(record.sliceId) as LedgerReader;
    const standing = await ledger.standingOf(record);
    // Better listed once too often than not at all: a redrive and a purge ask again.
    if (standing !== 'waits' && standing !== 'unreadable') continue;
    if (await isQuarantinedAgain(record, ledger.timeline, index)) continue;
    // A later timeline's may have been listed only since that was asked.
    const place = `${record.sliceId}/${sortablePosition(record)}`;
    if (ledger.timeline > 0 && seen.has(place)) continue;
    if (ledger.timeline > 0) seen.add(place);
    yield { record, standing };
  }
}

/** What the index does not list yet, but no record that it says was purged. */
async function notPurged(
  pending: readonly QuarantinedRecord[],
  index: QuarantineIndex,
): Promise<QuarantinedRecord[]> {
  if (pending.length === 0) return [];
  const found = await index.read(pending.map(quarantineId));
  return pending.filter((record) => found.get(quarantineId(record)) !== 'purged');
}

/** Whether a record waits, as its slice's ledger says. `unreadable`: results that may say so cannot be read. */
export type WaitingStanding = 'waits' | 'came-back' | 'unknown' | 'unreadable';

export interface QuarantineStandings {
  /** By id, in order. */
  readonly standings: ReadonlyMap<string, WaitingStanding>;
  /** Results that cannot be read. */
  readonly damaged?: readonly DamagedRun[];
}

/** What the ledgers say of the chosen records: of a selection the first that may wait, at most `limit`. */
export async function standingsOf(
  choice: RecordChoice,
  limit: number,
  sources: QuarantineSources,
): Promise<QuarantineStandings> {
  const damage = new DamagedRuns();
  const standings = new Map<string, WaitingStanding>();
  if ('ids' in choice) {
    const ledgers = ledgersOf(sources, damage.note);
    for (const id of choice.ids) standings.set(id, await standingOfId(id, ledgers));
  } else {
    const { after, selection } = choice;
    for await (const waiting of waitingPlaces(after, selection, sources, damage.note)) {
      standings.set(quarantineId(waiting.record), waiting.standing);
      if (standings.size === limit) break;
    }
  }
  return { standings, ...damage.told() };
}

type Ledgers = ReadonlyMap<string, LedgerReader>;

/** By slice. */
function ledgersOf(
  { slices, runs }: QuarantineSources,
  onDamage: (run: DamagedRun) => void,
): Ledgers {
  return new Map(
    slices.map((slice) => [slice.head.sliceId, new LedgerReader(slice, runs, onDamage)]),
  );
}

async function standingOfId(id: string, ledgers: Ledgers): Promise<WaitingStanding> {
  const ledger = ledgers.get(id.slice(0, id.indexOf('/')));
  const isOfIt =
    ledger !== undefined && isQuarantineId(id) && timelineOfQuarantineId(id) <= ledger.timeline;
  return isOfIt
    ? ledger.standingOf({ shardId: ledger.shardId, ...positionOfQuarantineId(id) })
    : 'unknown';
}

/** The ledger of one slice, at one epoch. */
class LedgerReader {
  readonly timeline: number;
  readonly shardId: string;
  readonly #sliceId: string;
  readonly #manifest: Manifest;
  readonly #runs: RunCache;
  readonly #onDamage: (run: DamagedRun) => void;
  readonly #recent: RecentLedger<ClosedEntry>;

  constructor(
    { head, checkpoint }: SliceSnapshot,
    runs: RunCache,
    onDamage: (run: DamagedRun) => void,
  ) {
    this.timeline = head.timeline;
    this.shardId = head.shardId;
    this.#sliceId = head.sliceId;
    this.#manifest = checkpoint.manifest;
    this.#runs = runs;
    this.#onDamage = onDamage;
    this.#recent = checkpoint.image.recentLedger;
  }

  async standingOf(record: LedgerRecord): Promise<WaitingStanding> {
    const recent = this.#recent.entriesOf(record);
    const readerOf = (run: RunReference) => this.#runs.reader(this.#sliceId, run);
    const stored = await ledgerInRuns(record, this.#manifest.runs, readerOf);
    for (const { epoch } of stored.damaged) this.#onDamage({ slice: this.#sliceId, epoch });
    if (stored.damaged.length > 0) return 'unreadable';
    const { waiting, cameBack } = ledgerStanding([...stored.entries, ...recent]);
    if (waiting.length > 0) return 'waits';
    return cameBack ? 'came-back' : 'unknown';
  }
}

/** A later timeline has put the same record aside, and lists it itself. */
async function isQuarantinedAgain(
  record: QuarantinedPlace,
  newestTimeline: number,
  index: QuarantineIndex,
): Promise<boolean> {
  const { timeline } = record;
  const later = Array.from({ length: newestTimeline - timeline }, (_, at) =>
    quarantineId({ ...record, timeline: timeline + 1 + at }),
  );
  return later.length > 0 && (await index.read(later)).size > 0;
}

/** What the newest deltas quarantined, by id. */
function pendingRecords(
  slices: readonly SliceSnapshot[],
  after: string | null,
): QuarantinedRecord[] {
  return slices
    .flatMap(({ head, checkpoint }) => {
      const { sliceId, shardId, timeline, epoch, planHash } = head;
      return checkpoint.quarantined.map((entry) => {
        return { ...entry, sliceId, shardId, timeline, epoch, planHash };
      });
    })
    .filter((record) => after === null || quarantineId(record) > after)
    .sort((a, b) => (quarantineId(a) < quarantineId(b) ? -1 : 1));
}

/** Records that the index reads at a time: each may be as large as a record gets; and such without bytes. */
const CHUNK = 32;
const PLACES_CHUNK = 1_000;

async function* indexed<T extends QuarantinedPlace>(
  after: string | null,
  slices: readonly SliceSnapshot[],
  read: Reading<T>['read'],
): AsyncGenerator<T> {
  const heads = new Map(slices.map(({ head }) => [head.sliceId, head]));
  let last = after;
  for (;;) {
    const records = await read(last);
    for (const record of records) {
      const head = heads.get(record.sliceId);
      const isKnown =
        head !== undefined && record.timeline <= head.timeline && record.epoch <= head.epoch;
      if (isKnown) yield record;
    }
    const end = records.at(-1);
    if (end === undefined) return;
    const id = quarantineId(end);
    if (last !== null && id <= last) {
      throw new CorruptStateFault(
        `the quarantine lists ${id} behind ${last}: a row of it is damaged`,
      );
    }
    last = id;
  }
}

/** Both, each id once. */
async function* recordsInOrder<T extends QuarantinedPlace>(
  pending: readonly QuarantinedRecord[],
  stored: AsyncGenerator<T>,
): AsyncGenerator<T | QuarantinedRecord> {
  let at = 0;
  for await (const record of stored) {
    const id = quarantineId(record);
    for (; at < pending.length; at++) {
      const other = pending[at] as QuarantinedRecord;
      const otherId = quarantineId(other);
      if (otherId > id) break;
      if (otherId < id) yield other;
    }
    yield record;
  }
  yield* pending.slice(at);
}
