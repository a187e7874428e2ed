/**
 * The records of a soak: numbered, so that each is known again however often it is sent. Time moves on with the numbers;
 * some records lie behind it by minutes, some are no records at all.
 */

/** One record as it is sent, and what a recount needs of it. */
export interface SoakRecord {
  readonly partitionKey: string;
  readonly data: Uint8Array;
  /** Null for a bad one. */
  readonly sound: SoundRecord | null;
}

export interface SoundRecord {
  readonly id: string;
  readonly at: number;
  readonly user: string;
  readonly region: string;
  /** In eighths, so that any order of additions gives the same double. */
  readonly amount: number;
}

/** Uniform in [0, 1). */
export type Random = () => number;

const START_MS = Date.UTC(2026, 0, 1);
/** Event time between two records: at some thousand records a second a window closes every second or so. */
const STEP_MS = 20;
const LATE_MS_MAX = 600_000;
const LATE_SHARE = 0.02;
const BAD_SHARE = 0.003;
const USERS = 400;
const REGIONS = 12;
const PARTITION_KEYS = 64;

/** A generator that gives the same numbers for the same seed (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class SoakRecords {
  readonly #random: Random;
  readonly #encoder = new TextEncoder();
  /** Records made so far. */
  count = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): SoakRecord {
    const number = this.count++;
    const random = this.#random;
    const partitionKey = `key-${Math.floor(random() * PARTITION_KEYS)}`;
    if (random() < BAD_SHARE) return { partitionKey, data: this.#badData(number), sound: null };
    const lateMs = random() < LATE_SHARE ? Math.floor(random() * LATE_MS_MAX) : 0;
    const sound: SoundRecord = {
      id: `r-${number}`,
      at: START_MS + number * STEP_MS - lateMs,
      user: `user-${Math.floor(random() * USERS)}`,
      region: `region-${Math.floor(random() * REGIONS)}`,
      amount: Math.floor(random() * 8_000 - 2_000) / 8,
    };
    return { partitionKey, data: this.#encoder.encode(JSON.stringify(sound)), sound };
  }

  #badData(number: number): Uint8Array {
    const id = `r-${number}`;
    const at = START_MS + number * STEP_MS;
    const kinds = [
      `{"id":"${id}","at":${at},`,
      `["${id}"]`,
      JSON.stringify({ id, at: 'yesterday' }),
      JSON.stringify({ id, at, amount: 'much' }),
      JSON.stringify({ at, number, user: 'without an id' }),
      `{"id":"${id}","at":${at},"user":9007199254740993}`,
      `{"id":"${id}","at":${at},"amount":1e999}`,
    ];
    return this.#encoder.encode(kinds[Math.floor(this.#random() * kinds.length)] as string);
  }
}
