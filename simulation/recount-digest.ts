/**
 * The oracle's digest of a log: written down again from docs/checkpoint-format.md, byte by byte and in big integers, so that it
 * shares nothing with the one that a fold keeps.
 */

/** A record of the stream, as an archive would hold it. */
interface Numbered {
  readonly sequenceNumber: string;
}

export interface RecountedDigest {
  readonly count: number;
  /** 16 hex digits. */
  readonly sum: string;
}

/** Digests of every beginning of the shards' logs, which only grow. */
export class DigestRecount {
  /** By shard: the sum over the first so many records of its log. */
  readonly #sums = new Map<
    string,
    { readonly log: readonly Numbered[]; readonly sums: bigint[] }
  >();

  /** Of the first `count` records of a shard's log, each a Kinesis record of its own. */
  at(shardId: string, log: readonly Numbered[], count: number): RecountedDigest {
    return { count, sum: hexOf(this.#sumAt(shardId, log, count)) };
  }

  #sumAt(shardId: string, log: readonly Numbered[], count: number): bigint {
    let known = this.#sums.get(shardId);
    if (known?.log !== log) known = { log, sums: [0n] };
    this.#sums.set(shardId, known);
    const { sums } = known;
    for (let at = sums.length - 1; at < count; at++) {
      const { sequenceNumber } = log[at] as Numbered;
      sums.push((sums[at] as bigint) + hashOfRecord(shardId, sequenceNumber));
    }
    return sums[count] as bigint;
  }
}

/** What one record adds to the sum. */
export function hashOfRecord(shardId: string, sequenceNumber: string): bigint {
  const name = Buffer.from(shardId, 'utf16le');
  const digits = Buffer.from(sequenceNumber.padStart(56, '0'), 'hex');
  const shard = Buffer.concat(murmur(name).map((word) => bytesOf(word)));
  const [low, high] = murmur(Buffer.concat([shard, digits])) as [bigint, bigint];
  return low + (high << 32n);
}

export function hexOf(sum: bigint): string {
  return (sum % 2n ** 64n).toString(16).padStart(16, '0');
}

const WORD = 2n ** 32n;
const [C1, C2, C3, C4] = [0x239b961bn, 0xab0e9789n, 0x38b34ae5n, 0xa1e38b93n];
/** Of each of the four words: its factors, by how much it is turned, and how the state goes on. */
const LANES = [
  { by: C1, turned: 15n, after: C2, turn: 19n, plus: 0x561ccd1bn },
  { by: C2, turned: 16n, after: C3, turn: 17n, plus: 0x0bcaa747n },
  { by: C3, turned: 17n, after: C4, turn: 15n, plus: 0x96cd1c35n },
  { by: C4, turned: 18n, after: C1, turn: 13n, plus: 0x32ac3b17n },
] as const;

/** MurmurHash3_x86_128 under seed 0. */
function murmur(bytes: Uint8Array): bigint[] {
  const state = [0n, 0n, 0n, 0n];
  const mixed = (block: Uint8Array, lane: number) => {
    const { by, turned, after } = LANES[lane] as (typeof LANES)[number];
    return (turn((wordAt(block, 4 * lane) * by) % WORD, turned) * after) % WORD;
  };
  for (let at = 0; at < bytes.length; at += 16) {
    const block = bytes.subarray(at, at + 16);
    for (const [lane, { turn: by, plus }] of LANES.entries()) {
      state[lane] = (state[lane] as bigint) ^ mixed(block, lane);
      if (block.length < 16) continue;
      const sum = (turn(state[lane] as bigint, by) + (state[(lane + 1) % 4] as bigint)) % WORD;
      state[lane] = (sum * 5n + plus) % WORD;
    }
  }
  const lengthened = state.map((word) => word ^ BigInt(bytes.length));
  return summed(summed(lengthened).map(final));
}

/** The first takes in all others, then each other the first. */
function summed([first, ...rest]: readonly bigint[]): bigint[] {
  const all = rest.reduce((sum, word) => sum + word, first as bigint) % WORD;
  return [all, ...rest.map((word) => (word + all) % WORD)];
}

function final(word: bigint): bigint {
  let mixed = ((word ^ (word >> 16n)) * 0x85ebca6bn) % WORD;
  mixed = ((mixed ^ (mixed >> 13n)) * 0xc2b2ae35n) % WORD;
  return mixed ^ (mixed >> 16n);
}

function turn(word: bigint, bits: bigint): bigint {
  return ((word << bits) % WORD) | (word >> (32n - bits));
}

/** Four bytes, the lowest first, zeros where there are none. */
function wordAt(bytes: Uint8Array, at: number): bigint {
  return [3, 2, 1, 0].reduce((word, byte) => (word << 8n) | BigInt(bytes[at + byte] ?? 0), 0n);
}

function bytesOf(word: bigint): Buffer {
  return Buffer.from([0n, 8n, 16n, 24n].map((bits) => Number((word >> bits) % 256n)));
}
