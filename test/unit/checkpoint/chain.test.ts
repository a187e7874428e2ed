import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter } from '../../../core/bytes.ts';
import {
  type ChainLink,
  chainSize,
  cutChain,
  decodeChain,
  encodeChain,
  linksAfter,
} from '../../../core/checkpoint/chain.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import { linkAt } from './blob-fixture.ts';

/** Deltas of epochs from `first` to `last`, as links. */
function deltas(first: number, last: number): ChainLink[] {
  return Array.from({ length: last - first + 1 }, (_, index) => linkAt(first + index));
}

/** Spans some epochs up to one. */
function spanning(after: number, epoch: number): ChainLink {
  return { ...linkAt(epoch), kind: 'merged', after };
}

function spansOf(links: readonly ChainLink[] | null): string | null {
  return links?.map(({ after, epoch }) => `${after}-${epoch}`).join(' ') ?? null;
}

function sorted(...links: ChainLink[]): ChainLink[] {
  return links.sort((a, b) => a.epoch - b.epoch || a.after - b.after);
}

describe('the links after an epoch', () => {
  const chain = sorted(...deltas(1, 19), spanning(0, 8), spanning(8, 16));

  it.each([
    [0, '0-8 8-16 16-17 17-18 18-19'],
    [8, '8-16 16-17 17-18 18-19'],
    [16, '16-17 17-18 18-19'],
    [19, ''],
  ])('are the longest: %i', (since, expected) => {
    expect(spansOf(linksAfter(chain, since))).toBe(expected);
  });

  it('may begin before it', () => {
    expect(spansOf(linksAfter(chain, 3))).toBe('0-8 8-16 16-17 17-18 18-19');
  });

  it('are not there where one is missing', () => {
    const missing = (epoch: number) => chain.filter((link) => link.epoch !== epoch);
    expect(linksAfter(missing(18), 0)).toBeNull();
    expect(spansOf(linksAfter(missing(16), 8))).toBeNull();
    expect(spansOf(linksAfter(missing(12), 0))).toBe('0-8 8-16 16-17 17-18 18-19');
  });

  it('count for the size of the chain', () => {
    const bytes = (links: readonly ChainLink[]) =>
      links.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const links = linksAfter(chain, 5) as ChainLink[];
    expect(chainSize(chain, 5)).toEqual({ chainLength: 5, chainBytes: bytes(links) });
    expect(() => chainSize(deltas(4, 9), 2)).toThrow('a-chain-has-no-gap');
  });
});

describe('a chain that is cut', () => {
  it('keeps what a restore needs, and the newest deltas', () => {
    const chain = sorted(...deltas(1, 200), spanning(0, 64), spanning(64, 128), spanning(0, 8));
    const kept = cutChain(chain, { chainSince: 20, collectBelow: 0 });
    expect(spansOf(kept.filter(({ kind }) => kind === 'merged'))).toBe('0-64 64-128');
    expect(kept.filter(({ kind }) => kind === 'delta')).toEqual(deltas(129, 200));
    expect(linksAfter(kept, 20)).toEqual(linksAfter(chain, 20));
    expect(linksAfter(kept, 90)).toEqual(linksAfter(chain, 90));
  });

  it('keeps 32 deltas for memories that follow, whether or not a restore needs them', () => {
    const chain = sorted(...deltas(1, 100), spanning(0, 64), spanning(64, 96));
    const kept = cutChain(chain, { chainSince: 10, collectBelow: 0 });
    expect(kept.filter(({ kind }) => kind === 'delta')).toEqual(deltas(69, 100));
    expect(spansOf(linksAfter(kept, 10))).toBe('0-64 64-96 96-97 97-98 98-99 99-100');
  });

  it('keeps nothing below the floor', () => {
    const chain = deltas(1, 30);
    expect(cutChain(chain, { chainSince: 20, collectBelow: 12 })).toEqual(deltas(12, 30));
  });
});

describe('the bytes of a chain', () => {
  it('come back', () => {
    const chain = sorted(...deltas(3, 5), { ...linkAt(9), after: 5 }, spanning(0, 4));
    const writer = new ByteWriter();
    encodeChain(chain, writer);
    const reader = new ByteReader(writer.finish());
    expect(decodeChain(reader)).toEqual(chain);
    reader.end();
  });

  it.each([0, 10])('are refused where a link to epoch 9 spans %i epochs', (span) => {
    const writer = new ByteWriter();
    encodeChain([{ ...linkAt(9), after: 9 - span }], writer);
    expect(() => decodeChain(new ByteReader(writer.finish()))).toThrow(CorruptStateFault);
  });
});
