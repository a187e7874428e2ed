/**
 * A chain: what leads from a base, or from the beginning, to an epoch. Its links are deltas, and merged deltas, each of which
 * says what several epochs changed together: a restore takes the longest that there are.
 *
 *   deltas        9   10   11   12   13   14   15   16   17   18   19
 *   merged      └──── (8, 16] ──────────────────────┘              the links after 8: the merged one, 17, 18, 19
 *
 * Links ascend by the epoch that they lead to; of one epoch the merged one comes first. So the last is a delta.
 */
import { assert } from '../assert.ts';
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import type { ChangeTail } from '../state/change-tail.ts';
import { type BlobName, type BlobReference, decodeReference, encodeReference } from './names.ts';

export interface ChainLink extends BlobReference {
  /** The epoch that it leads on from, to its own; 0 is the beginning. */
  readonly after: number;
}

/** What a link says, opened. */
export interface ChainChange extends Pick<BlobReference, 'kind' | 'timeline' | 'epoch' | 'nonce'> {
  readonly sliceId: string;
  readonly planHash: string;
  /** The delta that it goes on from; null: it begins with the first of all. */
  readonly before: BlobName | null;
  /** Late partials and ids that stand apart from the change, each of an epoch of its own. */
  readonly tails: readonly ChangeTail[];
  /** At the first byte of the change. */
  readonly change: ByteReader;
}

/** The delta of an epoch as a link of the chain that it goes on from. */
export function linkTo(chain: readonly ChainLink[], delta: BlobReference): ChainLink {
  return { ...delta, after: chain.at(-1)?.epoch ?? 0 };
}

/** A chain that a delta goes on from, with that delta, and with the merged one that was written with it, if one was. */
export function continued(
  chain: readonly ChainLink[],
  merged: ChainLink | null,
  delta: BlobReference,
): ChainLink[] {
  return [...chain, ...(merged === null ? [] : [merged]), linkTo(chain, delta)];
}

/**
 * The fewest links that lead from an epoch to the chain's last; null if some are missing. One may begin before it, since each
 * entry of a link stands for the link's own epoch.
 */
export function linksAfter(chain: readonly ChainLink[], since: number): ChainLink[] | null {
  const links: ChainLink[] = [];
  const last = chain.at(-1)?.epoch ?? since;
  // By where they begin, those that may follow come one after the other.
  const byBeginning = chain.toSorted((a, b) => a.after - b.after);
  let next = 0;
  for (let epoch = since; epoch < last; ) {
    let longest: ChainLink | null = null;
    for (; (byBeginning[next]?.after ?? Number.POSITIVE_INFINITY) <= epoch; next++) {
      const link = byBeginning[next] as ChainLink;
      if (link.epoch > (longest?.epoch ?? epoch)) longest = link;
    }
    if (longest === null) return null;
    links.push(longest);
    epoch = longest.epoch;
  }
  return links;
}

/** How many links are read after an epoch, and their bytes. */
export function chainSize(
  chain: readonly ChainLink[],
  since: number,
): { readonly chainLength: number; readonly chainBytes: number } {
  const links = linksAfter(chain, since);
  assert(links !== null, 'a-chain-has-no-gap', () => `after epoch ${since}`);
  const chainBytes = links.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return { chainLength: links.length, chainBytes };
}

/** Deltas that are named whether or not a restore reads them: a memory that is no older follows them. */
const FOLLOWED_DELTAS = 32;

/** Where a chain is cut: what a restore needs after an epoch stays, and the newest deltas, if they are not below the floor. */
export function cutChain(
  chain: readonly ChainLink[],
  { chainSince, collectBelow }: { readonly chainSince: number; readonly collectBelow: number },
): ChainLink[] {
  const kept = new Set(linksAfter(chain, chainSince) ?? chain);
  for (const delta of deltasOf(chain).slice(-FOLLOWED_DELTAS)) kept.add(delta);
  return chain.filter((link) => kept.has(link) && link.epoch >= collectBelow);
}

export function deltasOf(chain: readonly ChainLink[]): ChainLink[] {
  return chain.filter(({ kind }) => kind === 'delta');
}

export function encodeChain(chain: readonly ChainLink[], writer: ByteWriter): void {
  writer.varint(chain.length);
  for (const link of chain) {
    encodeReference(link, writer);
    writer.varint(link.epoch - link.after);
  }
}

export function decodeChain(reader: ByteReader): ChainLink[] {
  return Array.from({ length: reader.varint() }, () => {
    const reference = decodeReference(reader);
    const span = reader.varint();
    if (span === 0 || span > reference.epoch) {
      throw new CorruptStateFault(`a link to epoch ${reference.epoch} spans ${span} epochs`);
    }
    return { ...reference, after: reference.epoch - span };
  });
}
