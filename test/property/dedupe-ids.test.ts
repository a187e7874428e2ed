import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter } from '../../core/bytes.ts';
import { CorruptStateFault } from '../../core/faults.ts';
import { DedupeIds } from '../../core/state/dedupe-ids.ts';

/** Few ids, and many of them in the same few home slots. */
const anyId = fc.tuple(fc.constantFrom(0, 1, 15, 16, 0xffff_ffff), fc.nat({ max: 40 }));
const anyStep = fc.record({
  id: anyId,
  keepMs: fc.integer({ min: -20, max: 60 }),
  advanceMs: fc.nat({ max: 4 }),
  kind: fc.constantFrom('add', 'add', 'add', 'cut', 'clear-other'),
});

const wordsOf = ([a, b]: readonly [number, number]) => Uint32Array.of(a, b, 0, b * 7);

function encoded(sets: readonly DedupeIds[], watermarkMs: number): string {
  const writer = new ByteWriter();
  DedupeIds.encode(sets, watermarkMs, writer);
  return writer.peek().join();
}

describe('dedupe ids', () => {
  it('are known exactly as long as a plain map says, through growth, sweeps and merges', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 300 }), (steps) => {
        const oracle = new Map<string, { id: [number, number]; keepUntilMs: number }>();
        const kept = new DedupeIds();
        let other = new DedupeIds();
        let watermarkMs = 0;
        for (const { id, keepMs, advanceMs, kind } of steps) {
          watermarkMs += advanceMs;
          if (kind === 'cut') {
            kept.merge(other, watermarkMs);
            other.clear();
          } else if (kind === 'clear-other') {
            kept.merge(other, watermarkMs);
            other = new DedupeIds();
          } else {
            const keepUntilMs = watermarkMs + keepMs;
            other.add(wordsOf(id), keepUntilMs, watermarkMs);
            const before = oracle.get(id.join())?.keepUntilMs ?? keepUntilMs;
            oracle.set(id.join(), { id, keepUntilMs: Math.max(before, keepUntilMs) });
          }
          for (const { id: asked, keepUntilMs } of oracle.values()) {
            const words = wordsOf(asked);
            const known = kept.has(words, watermarkMs) || other.has(words, watermarkMs);
            expect(known).toBe(keepUntilMs > watermarkMs);
          }
        }
        expect(kept.has(Uint32Array.of(3, 3, 3, 3), watermarkMs)).toBe(false);
        const straight = new DedupeIds();
        for (const { id, keepUntilMs } of [...oracle.values()].reverse()) {
          straight.add(wordsOf(id), keepUntilMs, watermarkMs);
        }
        expect(encoded([kept, other], watermarkMs)).toBe(encoded([straight], watermarkMs));
      }),
      { numRuns: 60 },
    );
  });

  it('come back from their bytes, expired ones left out', () => {
    const ids = new DedupeIds();
    for (let n = 0; n < 1_000; n++) ids.add(wordsOf([n % 3, n]), n, 0);
    const writer = new ByteWriter();
    DedupeIds.encode([ids], 499, writer);
    const read = new DedupeIds();
    const reader = new ByteReader(writer.peek());
    read.decode(reader, 499);
    reader.end();
    expect(read.size).toBe(500);
    for (let n = 0; n < 1_000; n++) expect(read.has(wordsOf([n % 3, n]), 499)).toBe(n >= 500);
  });

  it('stay small while they expire as fast as they come', () => {
    const ids = new DedupeIds();
    for (let n = 0; n < 50_000; n++) ids.add(Uint32Array.of(n, n, n, n), n + 100, n);
    expect(ids.size).toBeLessThan(1_000);
    expect(ids.heapBytes()).toBeLessThan(50_000);
  });

  it('may come in ascending order of hash: what was stored is read in linear time', () => {
    const ids = new DedupeIds();
    for (let n = 0; n < 100_000; n++) ids.add(Uint32Array.of(n * 40_000, n, n, n), 10, 0);
    const writer = new ByteWriter();
    DedupeIds.encode([ids], 0, writer);
    const read = new DedupeIds();
    read.decode(new ByteReader(writer.peek()), 0);
    expect(read.size).toBe(100_000);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('are refused with the end %d', (end) => {
    const writer = new ByteWriter();
    writer.varint(1);
    for (let word = 0; word < 4; word++) writer.u32(word);
    writer.f64(end);
    expect(() => new DedupeIds().decode(new ByteReader(writer.peek()), 0)).toThrow(
      CorruptStateFault,
    );
  });
});
