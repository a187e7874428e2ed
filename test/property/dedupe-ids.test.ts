import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter } from '../../core/bytes.ts';
import { CorruptStateFault } from '../../core/faults.ts';
import { DedupeIds, ID_BYTES } from '../../core/state/dedupe-ids.ts';

/** Few ids, and many of them with the same first word, or with the same low bits of it. */
const anyId = fc.tuple(fc.constantFrom(0, 1, 15, 16, 256, 0xffff_ffff), fc.nat({ max: 40 }));
const anyStep = fc.record({
  id: anyId,
  keepMs: fc.integer({ min: -20, max: 60 }),
  advanceMs: fc.nat({ max: 4 }),
  kind: fc.constantFrom(...Array(12).fill('add'), 'commit', 'commit', 'commit', 'undo', 'restore'),
});
const anySizes = fc.record({
  pageIdsMin: fc.constantFrom(1, 3),
  pageBits: fc.constantFrom(1, 2, 4),
  bucketIds: fc.constantFrom(1, 2, 7),
  sweptIds: fc.constantFrom(0, 1, 1_000),
});

const wordsOf = ([a, b]: readonly [number, number]) => Uint32Array.of(a, b, 0, b * 7);
const NEVER_MS = Number.NEGATIVE_INFINITY;

function encoded(sets: readonly DedupeIds[], expiredMs: number): string {
  const writer = new ByteWriter();
  DedupeIds.encodeCanonical(sets, expiredMs, writer);
  return writer.peek().join();
}

/** The ids of `ids` from one ordinal on, in a set of its own. */
function restored(ids: DedupeIds, from: number, expiredMs: number, into: DedupeIds): DedupeIds {
  const writer = new ByteWriter();
  const written = ids.encode(from, ids.end, expiredMs, writer);
  expect(writer.length).toBe(written.entryCount * ID_BYTES);
  const reader = new ByteReader(writer.peek());
  expect(into.decode(reader, written.entryCount, expiredMs)).toEqual(written);
  reader.end();
  return into;
}

/** Hashes are spread evenly, as those of texts are. */
const spread = (n: number) => Uint32Array.of(Math.imul(n, 0x9e37_79b1) ^ (n >>> 3), n, n, n);

function added(count: number): DedupeIds {
  const ids = new DedupeIds();
  for (let n = 0; n < count; n++) ids.add(spread(n), n);
  return ids;
}

describe('dedupe ids', () => {
  it('are known exactly as long as a plain map says, through growth, sweeps, undos and restores', () => {
    let sweptMax = 0;
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 300, size: 'max' }), anySizes, (steps, sizes) => {
        type Known = { id: [number, number]; keptMs: number };
        let committed = new Map<string, Known>();
        let oracle = new Map<string, Known>();
        let kept = new DedupeIds(sizes);
        const since = new DedupeIds(sizes);
        let watermarkMs = 0;
        for (const { id, keepMs, advanceMs, kind } of steps) {
          if (kind === 'commit') {
            kept.merge(since, watermarkMs);
            kept.sweep(watermarkMs);
            since.clear();
            committed = new Map(oracle);
            sweptMax = Math.max(sweptMax, kept.end - kept.size);
          } else if (kind === 'undo') {
            since.clear();
            oracle = new Map(committed);
          } else if (kind === 'restore') {
            kept = restored(kept, 0, watermarkMs, new DedupeIds(sizes));
          } else {
            watermarkMs += advanceMs;
            const keptMs = watermarkMs + keepMs;
            since.add(wordsOf(id), keptMs);
            const before = oracle.get(id.join())?.keptMs ?? keptMs;
            oracle.set(id.join(), { id, keptMs: Math.max(before, keptMs) });
          }
          for (const { id: asked, keptMs } of oracle.values()) {
            const words = wordsOf(asked);
            const isKnown = kept.has(words, watermarkMs) || since.has(words, watermarkMs);
            expect(isKnown).toBe(keptMs > watermarkMs);
          }
        }
        expect(kept.has(Uint32Array.of(3, 3, 3, 3), NEVER_MS)).toBe(false);
        const straight = new DedupeIds();
        for (const { id, keptMs } of [...oracle.values()].reverse()) {
          straight.add(wordsOf(id), keptMs);
        }
        expect(encoded([kept, since], watermarkMs)).toBe(encoded([straight], watermarkMs));
      }),
      { numRuns: 100 },
    );
    expect(sweptMax).toBeGreaterThan(20);
  });

  it('come back from their bytes, expired ones left out, and from some moment on', () => {
    const ids = added(1_000);
    const whole = restored(ids, 0, 499, new DedupeIds());
    const late = restored(ids, 700, 499, new DedupeIds());
    expect([whole.size, late.size]).toEqual([500, 300]);
    for (let n = 0; n < 1_000; n++) {
      const id = spread(n);
      expect([whole.has(id, 499), late.has(id, 499)]).toEqual([n >= 500, n >= 700]);
    }
  });

  it('have the latest of their times, in whatever order these come', () => {
    const id = Uint32Array.of(1, 2, 3, 4);
    for (const times of [
      [5, 9],
      [9, 5],
    ]) {
      const ids = new DedupeIds();
      for (const timeMs of times) ids.add(id, timeMs);
      expect([ids.has(id, 8), ids.has(id, 9), ids.size]).toEqual([true, false, 1]);
    }
  });

  it('stay small while they expire as fast as they come', () => {
    const ids = new DedupeIds();
    for (let n = 0; n < 50_000; n++) {
      ids.add(spread(n), n + 100);
      if (n % 100 === 0) ids.sweep(n);
    }
    expect(ids.size).toBeLessThan(500);
    expect(ids.heapBytes()).toBeLessThan(30_000);
  });

  it('take fewer than 50 bytes each, and give them back a bounded part at a time', () => {
    const ids = added(200_000);
    expect(ids.heapBytes() / 200_000).toBeLessThan(50);
    ids.sweep(NEVER_MS);
    let sweeps = 0;
    for (let size = ids.size; size > 0; size = ids.size, sweeps++) {
      ids.sweep(1_000_000);
      expect(size - ids.size).toBeLessThan(16_384 + 4_096);
    }
    expect(sweeps).toBeGreaterThan(10);
    expect(ids.heapBytes()).toBeLessThan(60_000);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('are refused with the time %d', (timeMs) => {
    const writer = new ByteWriter();
    for (let word = 0; word < 4; word++) writer.u32(word);
    writer.f64(timeMs);
    const reader = new ByteReader(writer.peek());
    expect(() => new DedupeIds().decode(reader, 1, 0)).toThrow(CorruptStateFault);
  });
});
