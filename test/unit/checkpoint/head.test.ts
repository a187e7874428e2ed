import { describe, expect, it } from 'vitest';
import { FORMAT_VERSION } from '../../../core/bytes.ts';
import { type Head, headItem, parseHead } from '../../../core/checkpoint/head.ts';
import { firstHead } from '../../../core/checkpoint/transitions.ts';
import { crc32c } from '../../../core/crc32c.ts';
import { CorruptStateFault, InvariantFault } from '../../../core/faults.ts';
import { HEAD_BYTES_MAX } from '../../../core/limits.ts';
import type { HeadItem } from '../../../core/ports.ts';
import { Digest } from '../../../core/state/digest.ts';
import { blobAt, expectEveryDamageDetected, someHead } from './blob-fixture.ts';

const first = firstHead({
  sliceId: 'slice-0',
  shardId: 'shardId-0',
  range: { start: '0'.repeat(32), end: 'f'.repeat(32) },
  streamId: '0'.repeat(16),
  planOrdinal: 0,
  planHash: '0'.repeat(32),
  nonce: '0'.repeat(16),
});

const plainly = (head: Head) => ({ ...head, digest: head.digest.value() });

/** The item with `change` made to its body and a checksum that fits. */
function resealed(item: HeadItem, change: (body: Uint8Array) => void): HeadItem {
  const body = item.body.slice();
  change(body);
  const end = body.length - 4;
  new DataView(body.buffer).setUint32(end, crc32c(body.subarray(0, end)), true);
  return { ...item, body };
}

describe('HEAD', () => {
  it.each([
    ['with something in every field', someHead],
    ['of a slice that has folded nothing', first],
    ['of each status', { ...someHead, status: 'SEALED' as const }],
    [
      'that no base was written for',
      { ...someHead, base: null, chainSince: 0, chainLength: 17, collectBelow: 0 },
    ],
  ])('comes back from its bytes: %s', (_, head) => {
    expect(plainly(parseHead(headItem(head)))).toEqual(plainly(head));
  });

  it('stays in one write unit with the longest names and the largest numbers', () => {
    const shardId = `shardId-${'x'.repeat(120)}`;
    const large = 2 ** 53 - 1;
    const position = { sequenceNumber: '9'.repeat(56), subSequence: 2 ** 31 };
    const far = { epoch: large, byteLength: large, nonce: 'f'.repeat(16), timeline: large };
    const head: Head = {
      ...someHead,
      sliceId: `slice-${'x'.repeat(120)}`,
      shardId,
      timeline: large,
      epoch: large,
      generation: large,
      revision: large,
      planOrdinal: large,
      cursor: position,
      delivered: position,
      digest: new Digest(large, 0xffffffff, 0xffffffff),
      recordCount: large,
      counts: {
        folded: large - 5,
        duplicates: 1,
        late: 1,
        quarantined: 1,
        unmatched: 1,
        heartbeats: 1,
      },
      entryCount: large,
      stateBytes: large,
      chainLength: large,
      chainBytes: large,
      base: blobAt('base', large, far),
      chainSince: large,
      baseCursor: position,
      delta: blobAt('delta', large, far),
      collectBelow: large,
      replayFrom: position,
      floor: { epoch: large, cursor: position, sinceMs: large },
      previous: {
        planHash: someHead.planHash,
        base: blobAt('base', large, far),
        chainSince: large,
        delta: blobAt('delta', large, far),
        cursor: position,
        sinceMs: large,
      },
    };
    const item = headItem(head);
    const byteLength = item.body.length + item.delivered.length + item.sliceId.length + 40;
    expect(byteLength).toBeLessThanOrEqual(HEAD_BYTES_MAX);
    expect(plainly(parseHead(item))).toEqual(plainly(head));
  });

  it('is not written larger than one write unit', () => {
    const head = { ...someHead, shardId: 'x'.repeat(800) };
    expect(() => headItem(head)).toThrow(/head-fits-one-write-unit/);
  });

  it('refuses every flipped bit and every cut of its body', async () => {
    const item = headItem(someHead);
    await expectEveryDamageDetected(item.body, (body) => parseHead({ ...item, body }));
  });

  it.each([
    [FORMAT_VERSION + 1, 'NewerFormatFault', 'upgrade tidemark'],
    [FORMAT_VERSION - 1, 'OlderFormatFault', 'start with an empty data folder'],
    [1, 'OlderFormatFault', 'keep the code that wrote this'],
    [0, 'OlderFormatFault', 'start with an empty data folder'],
  ])('refuses format %s by name, and says what to do', (version, name, hint) => {
    const other = resealed(headItem(someHead), (body) => {
      body[4] = version;
    });
    expect(() => parseHead(other)).toThrow(
      expect.objectContaining({
        name,
        message: `HEAD of slice-000000000000 has format ${version}; this Tidemark reads format ${FORMAT_VERSION} only`,
        hint: expect.stringContaining(hint),
      }),
    );
  });

  it.each<[string, Partial<HeadItem>]>([
    ['another revision', { revision: 41 }],
    ['another delivered', { delivered: `${'0'.repeat(56)}.0000000000` }],
    ['another slice', { sliceId: 'slice-000000000001' }],
  ])('refuses %s beside its body', (_, more) => {
    expect(() => parseHead({ ...headItem(someHead), ...more })).toThrow(CorruptStateFault);
    expect(() => parseHead({ ...headItem(someHead), ...more })).toThrow(/contradicts/);
  });

  it.each<[string, Partial<Head>]>([
    ['cursor-is-at-most-delivered', { delivered: { sequenceNumber: '1', subSequence: 0 } }],
    ['each-record-has-one-class', { recordCount: 16 }],
    ['each-kinesis-record-holds-a-record', { digest: new Digest(22) }],
    ['each-kinesis-record-holds-a-record', { digest: new Digest(0) }],
    ['what-is-quarantined-in-part-is-folded', { partlyQuarantined: 2 }],
    ['what-is-dropped-in-part-or-past-dedupe-is-folded', { partlyDropped: 2 }],
    ['what-is-dropped-in-part-or-past-dedupe-is-folded', { pastDedupe: 2 }],
    ['an-epoch-has-a-delta', { delta: null }],
    ['head-names-its-own-delta', { delta: blobAt('delta', 16) }],
    ['base-is-not-ahead', { base: blobAt('base', 18) }],
    ['a-base-needs-only-what-was-before-it', { chainSince: 10, chainLength: 7 }],
    ['chain-reaches-from-base-to-head', { chainLength: 70 }],
    ['chain-reaches-from-base-to-head', { chainLength: 0, chainBytes: 0 }],
  ])('is never written against %s', (invariant, more) => {
    expect(() => headItem({ ...someHead, ...more })).toThrow(InvariantFault);
    expect(() => headItem({ ...someHead, ...more })).toThrow(invariant);
  });
});
