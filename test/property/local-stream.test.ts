import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LocalRecordSource } from '../../adapters/local/stream/local-record-source.ts';
import { LocalStream } from '../../adapters/local/stream/local-stream.ts';
import { comparePositions, type Position, START } from '../../core/position.ts';

const SHARD = 'shardId-000000000000';
const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 0, 2);

type Step =
  | { readonly kind: 'append'; readonly count: number }
  | { readonly kind: 'reopen' }
  | { readonly kind: 'wait'; readonly ms: number }
  /** `back`: how many records before the newest. */
  | { readonly kind: 'trim-before'; readonly back: number }
  | { readonly kind: 'trim-expired'; readonly back: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('append'), count: fc.integer({ min: 0, max: 9 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen') }) },
  // The clock may go back as well.
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('wait'),
      ms: fc.integer({ min: -HOUR_MS, max: 9 * HOUR_MS }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('trim-before'), back: fc.nat({ max: 12 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('trim-expired'), back: fc.nat({ max: 12 }) }),
  },
);

interface Kept {
  readonly position: Position;
  readonly arrivalMs: number;
  readonly text: string;
}

describe('the local stream', () => {
  it('is an ordered log from which only a beginning goes, whatever is done to it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-stream-'));
    let run = 0;
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { maxLength: 25 }),
          fc.integer({ min: 1, max: 8 }),
          (steps, limit) => check(join(folder, `${run++}.db`), steps, limit),
        ),
        { numRuns: 30 },
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

async function check(path: string, steps: readonly Step[], limit: number): Promise<void> {
  const clock = { ms: NOW_MS, nowMs: () => clock.ms };
  const open = () => LocalStream.open({ path, name: 'flights', clock });
  let stream = open();
  const all: Kept[] = [];
  let first = 0;
  for (const taken of steps) {
    switch (taken.kind) {
      case 'append': {
        const texts = Array.from({ length: taken.count }, (_, index) => `${all.length + index}`);
        const appended = stream.append(
          texts.map((text) => ({
            partitionKey: text,
            explicitHashKey: null,
            data: Buffer.from(text),
          })),
        );
        const arrivalMs = Math.max(clock.ms, all.at(-1)?.arrivalMs ?? 0);
        for (const [index, { sequenceNumber }] of appended.entries()) {
          const position = { sequenceNumber, subSequence: 0 };
          all.push({ position, arrivalMs, text: texts[index] as string });
        }
        break;
      }
      case 'reopen':
        stream.close();
        stream = open();
        break;
      case 'wait':
        clock.ms += taken.ms;
        break;
      case 'trim-before': {
        const at = Math.max(first, all.length - 1 - taken.back);
        const kept = all[at];
        if (kept === undefined) break;
        await stream.trimBefore(SHARD, kept.position);
        first = at;
        break;
      }
      case 'trim-expired': {
        const cursor = all.length - 1 - taken.back;
        const position = all[cursor]?.position ?? START;
        await stream.trimExpired(clock.ms, new Map([[SHARD, position]]));
        const cutoffMs = clock.ms - 24 * HOUR_MS;
        const expired = all.filter(({ arrivalMs }) => arrivalMs < cutoffMs).length;
        first = Math.max(first, Math.min(expired, cursor + 1));
        break;
      }
    }
  }
  const source = LocalRecordSource.open(path);
  try {
    expect(stream.tip(SHARD)).toMatchObject({ ordinal: all.length, count: all.length - first });
    for (const [at, { position }] of all.entries()) {
      const previous = all[at - 1];
      if (previous !== undefined) {
        expect(comparePositions(previous.position, position)).toBeLessThan(0);
      }
    }
    await expectReads(source, all, first, limit);
  } finally {
    source.close();
    stream.close();
  }
}

/** From every position: what follows it, or that some of it is gone. */
async function expectReads(
  source: LocalRecordSource,
  all: readonly Kept[],
  first: number,
  limit: number,
): Promise<void> {
  for (let from = 0; from <= all.length; from++) {
    const after = from === 0 ? START : (all[from - 1] as Kept).position;
    const read = await source.readAfter(SHARD, after, limit);
    if (from < first) {
      expect(read).toEqual({ outcome: 'trimmed', oldest: all[first]?.position ?? null });
      continue;
    }
    const expected = all.slice(from, from + limit);
    expect(read).toEqual({
      outcome: 'records',
      origin: 'stream',
      reachedTip: from + expected.length === all.length,
      records: expected.map(({ position, arrivalMs, text }) => ({
        ...position,
        arrivalMs,
        partitionKey: text,
        data: new Uint8Array(Buffer.from(text)),
      })),
    });
  }
}
