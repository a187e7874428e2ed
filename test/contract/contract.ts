/**
 * What the contract suites share. A suite is one function per port; each implementation calls it with a way to make an empty
 * world, and with the tests that cannot hold for it, each with its reason.
 */
import { afterEach, describe, expect, it } from 'vitest';

/** Where one implementation keeps its data, and who is connected to it. */
export interface World<P> {
  /** A connection of its own to the same data. */
  connect(): Promise<P>;
  /** Ends all connections, as the end of the process would; the data stay. */
  disconnect(): Promise<void>;
  /** Ends all connections and removes the data. */
  dispose(): Promise<void>;
}

export interface Skip {
  readonly test: string;
  readonly reason: string;
}

export interface Contract<W> {
  readonly name: string;
  readonly make: () => Promise<W>;
  readonly skip?: readonly Skip[];
}

/** Texts that stores like to change or to take for one another; no two are the same. */
export const ODD_TEXTS: readonly string[] = [
  '',
  '%',
  "it's",
  'null \0 byte',
  'null ',
  'lone \ud800 surrogate',
  'lone \udfff surrogate',
  'lone \ufffd surrogate',
  '🛫 ünïcode',
  '"\\\n',
  'a/b',
  'A/B',
  'a/b ',
];

type Test<W> = (name: string, run: (world: W) => Promise<void>) => void;

/** Declares a suite: `declare` gets a `test` that makes a world for each test and disposes of it. */
export function describeContract<W extends { dispose(): Promise<void> }>(
  port: string,
  { name, make, skip = [] }: Contract<W>,
  declare: (test: Test<W>) => void,
): void {
  describe(`${port}: ${name}`, () => {
    const names = new Set<string>();
    let world: W | null = null;
    afterEach(async () => {
      await world?.dispose();
      world = null;
    });
    declare((testName, run) => {
      names.add(testName);
      const skipped = skip.find(({ test }) => test === testName);
      it.skipIf(skipped !== undefined)(
        skipped === undefined ? testName : `${testName} (skipped: ${skipped.reason})`,
        async () => {
          world = await make();
          await run(world);
        },
      );
    });
    it('skips only tests that exist', () => {
      expect(skip.map(({ test }) => test).filter((test) => !names.has(test))).toEqual([]);
    });
  });
}

/** The world of an implementation that lives in memory: everyone has the same instance. */
export function worldOf<P>(port: P): World<P> {
  return {
    connect: async () => port,
    disconnect: async () => {},
    dispose: async () => {},
  };
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** `length` bytes that differ from those of another seed. */
export function patternOf(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed * 2654435761 + 1;
  for (let index = 0; index < length; index++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}
