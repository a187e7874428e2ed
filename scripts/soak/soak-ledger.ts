/**
 * What was acknowledged, and the plain recounts of it: groups from the acknowledged records, each counted once; late and
 * bad ones from the stream's own order. Shares no code with what it checks.
 */
import type { SoakRecord, SoundRecord } from './soak-records.ts';

export interface Group {
  records: number;
  total: number;
  least: number;
  most: number;
}

/** By group: `user`, or `region` and the start of its window in milliseconds. */
export type Groups = Map<string, Group>;

/** A record as the stream gave it back. */
export interface LoggedRecord {
  readonly shardId: string;
  readonly sequenceNumber: string;
  readonly partitionKey: string;
  readonly data: Buffer;
}

const WINDOW_MS = 60_000;
const LATENESS_MS = 60_000;

export class SoakLedger {
  readonly totals: Groups = new Map();
  readonly minutes: Groups = new Map();
  /** By shard and sequence number: the text of each acknowledged record. */
  readonly acknowledged = new Map<string, string>();
  readonly #newest = new Map<string, string>();
  soundCount = 0;

  /** Called once for each record, with the place that its acknowledgement named. */
  acknowledge({ data, sound }: SoakRecord, shardId: string, sequenceNumber: string): void {
    const place = placeOf(shardId, sequenceNumber);
    if (this.acknowledged.has(place)) throw new Error(`two records were acknowledged at ${place}`);
    this.acknowledged.set(place, Buffer.from(data).toString());
    const newest = this.#newest.get(shardId);
    if (newest === undefined || BigInt(newest) < BigInt(sequenceNumber)) {
      this.#newest.set(shardId, sequenceNumber);
    }
    if (sound === null) return;
    this.soundCount++;
    addTo(this.totals, sound.user, sound);
    addTo(this.minutes, windowKey(sound), sound);
  }

  /** The newest acknowledged record of each shard, as `after` takes it. */
  newestPositions(): string[] {
    return [...this.#newest].map(([shardId, sequenceNumber]) => placeOf(shardId, sequenceNumber));
  }
}

/** What the order of the log decides: which records were late, known or bad. */
export class LogRecount {
  /** Groups of records that came before their window had closed. */
  readonly punctual: Groups = new Map();
  /** Bad and late records by place, as they must be in the quarantine. */
  readonly quarantined = new Map<string, LoggedRecord>();
  readonly #places = new Set<string>();
  readonly #ids = new Set<string>();
  readonly #watermarks = new Map<string, number>();
  records = 0;
  duplicates = 0;
  bad = 0;

  /** Takes the records of a shard in their order. */
  add(record: LoggedRecord): void {
    const place = placeOf(record.shardId, record.sequenceNumber);
    this.records++;
    this.#places.add(place);
    const sound = soundRecord(record.data);
    if (sound === null) {
      this.bad++;
      this.quarantined.set(place, record);
      return;
    }
    if (this.#ids.has(sound.id)) {
      this.duplicates++;
      return;
    }
    this.#ids.add(sound.id);
    const watermark = this.#watermarks.get(record.shardId) ?? Number.NEGATIVE_INFINITY;
    const end = windowStart(sound.at) + WINDOW_MS;
    if (end > watermark) addTo(this.punctual, windowKey(sound), sound);
    else this.quarantined.set(place, record);
    this.#watermarks.set(record.shardId, Math.max(watermark, sound.at - LATENESS_MS));
  }

  has(place: string): boolean {
    return this.#places.has(place);
  }

  get distinctIds(): number {
    return this.#ids.size;
  }
}

export function placeOf(shardId: string, sequenceNumber: string): string {
  return `${shardId}:${sequenceNumber}`;
}

function windowStart(atMs: number): number {
  return Math.floor(atMs / WINDOW_MS) * WINDOW_MS;
}

function windowKey({ region, at }: SoundRecord): string {
  return `${region} ${windowStart(at)}`;
}

function addTo(groups: Groups, key: string, { amount }: SoundRecord): void {
  const group = groups.get(key);
  if (group === undefined) {
    groups.set(key, { records: 1, total: amount, least: amount, most: amount });
    return;
  }
  group.records++;
  group.total += amount;
  group.least = Math.min(group.least, amount);
  group.most = Math.max(group.most, amount);
}

/** The record behind the bytes if it is one that the generator made as sound. */
function soundRecord(data: Buffer): SoundRecord | null {
  const text = data.toString();
  if (!text.includes('"region"')) return null;
  return JSON.parse(text) as SoundRecord;
}
