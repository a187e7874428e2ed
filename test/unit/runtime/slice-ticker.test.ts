import { afterEach, describe, expect, it } from 'vitest';
import { SliceTicker, type SliceTickerOptions } from '../../../runtime/slice-ticker.ts';

const tickers: SliceTicker[] = [];

afterEach(async () => {
  await Promise.all(tickers.splice(0).map((ticker) => ticker.stop()));
});

function tickerOf(options: Partial<SliceTickerOptions>): SliceTicker {
  const ticker = new SliceTicker({
    shardIds: ['a', 'b'],
    intervalMs: 3_600_000,
    tick: async () => {},
    onFailure: () => {},
    ...options,
  });
  tickers.push(ticker);
  return ticker;
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

describe('SliceTicker', () => {
  it('ticks each shard again and again, and one that is slow holds up no other', async () => {
    const counts = { a: 0, b: 0 };
    const ends: (() => void)[] = [];
    tickerOf({
      intervalMs: 10,
      tick: (shardId) => {
        counts[shardId as 'a' | 'b']++;
        return shardId === 'b' ? Promise.resolve() : new Promise<void>((end) => ends.push(end));
      },
    });
    while (counts.b < 5) await pause(5);

    expect(counts.a).toBe(1);
    ends.shift()?.();
    while (counts.a < 2) await pause(5);
    ends.shift()?.();
    await pause(0);
    for (const end of ends) end();
  });

  it('goes on after a tick that failed, and says which shard it was', async () => {
    const failed: unknown[] = [];
    const ticker = tickerOf({
      tick: async (shardId) => {
        if (shardId === 'b') throw new Error('no');
      },
      onFailure: (shardId, error) => failed.push([shardId, (error as Error).message]),
    });
    await ticker.tickAll();
    await ticker.tickAll();

    expect(failed).toEqual([
      ['b', 'no'],
      ['b', 'no'],
    ]);
  });

  it('goes on at once with work that a tick left, and not after it stopped', async () => {
    let left = 3;
    const ticker = tickerOf({ shardIds: ['a'], tick: async () => --left > 0 });
    await ticker.tickAll();
    while (left > 0) await pause(5);
    left = 3;
    await ticker.tickAll();
    await ticker.stop();
    await pause(50);
    expect(left).toBe(2);
  });

  it('begins a tick of each shard after tickAll, even while one runs', async () => {
    const began: string[] = [];
    const ticker = tickerOf({
      tick: async (shardId) => {
        began.push(shardId);
        await pause(20);
      },
    });
    const first = ticker.tickAll();
    await pause(5);
    await ticker.tickAll();

    expect(began).toEqual(['a', 'b', 'a', 'b']);
    await first;
  });

  it('waits for running ticks when it stops, and starts no more', async () => {
    let running = 0;
    let count = 0;
    const ticker = tickerOf({
      intervalMs: 5,
      tick: async () => {
        running++;
        count++;
        await pause(20);
        running--;
      },
    });
    while (count < 2) await pause(1);
    await ticker.stop();
    const stoppedAt = count;

    expect(running).toBe(0);
    await pause(30);
    expect(count).toBe(stoppedAt);
  });
});
