/**
 * The stores are where they were: another table, bucket or stream is empty, and what the former holds would be left behind.
 */
import { canonicalJson } from '../../core/definition/plan-json.ts';
import type { LockedPipeline, LockedStores } from '../lock-file.ts';
import type { Refusal } from './refusal.ts';

interface Part {
  readonly what: string;
  readonly of: (stores: LockedStores) => unknown;
  readonly expected: string;
  readonly todo: string;
}

const PARTS: readonly Part[] = [
  {
    what: 'table',
    of: ({ table }) => table,
    expected: 'the same: another holds no HEAD, and the stream would be counted anew',
    todo: 'put id and name back; to go on with the former or a restored one, give it as `table`',
  },
  {
    what: 'bucket',
    of: ({ bucket: { logicalId, name } }) => ({ logicalId, name }),
    expected: 'the same: another holds none of the state that HEADs name',
    todo: 'put id and name back; to go on with the former, give it as `bucket` with its keyPrefix',
  },
  {
    what: 'keyPrefix',
    of: ({ bucket }) => bucket.keyPrefix,
    expected: 'the same: under another prefix there is none of the state that HEADs name',
    todo: 'put it back',
  },
  {
    what: 'stream',
    of: ({ stream }) => stream,
    expected: 'the same: another name makes another stream, to which no producer writes',
    todo: 'put id and name back; to go on with the former, give it as `stream` with start and retention',
  },
];

/** `unlock` says how to go on all the same. */
export function guardStores(
  before: LockedPipeline,
  now: LockedPipeline,
  unlock: string,
): Refusal[] {
  return [
    ...guardStreamName(before, now, unlock),
    // A file of version 1 does not know them: it learns them at this synth.
    ...(before.stores === undefined || now.stores === undefined
      ? []
      : [
          ...guardParts(before.stores, now.stores, unlock),
          ...guardKeeping(before.stores, now.stores, unlock),
        ]),
  ];
}

function guardStreamName(before: LockedPipeline, now: LockedPipeline, unlock: string): Refusal[] {
  const [was, is] = [before.pipeline.stream, now.pipeline.stream];
  if (was === is) return [];
  return [
    {
      found: `\`stream\` of the pipeline was ${was} and is ${is} now`,
      expected: 'the same: table and bucket hold what was folded of the former',
      todo: `put it back; to fold another stream deploy a second pipeline under another name; ${unlock}`,
    },
  ];
}

function guardParts(before: LockedStores, now: LockedStores, unlock: string): Refusal[] {
  return PARTS.flatMap(({ what, of, expected, todo }) => {
    const [was, is] = [canonicalJson(of(before)), canonicalJson(of(now))];
    if (was === is) return [];
    const found = `the ${what} was ${was} and is ${is} now`;
    return [{ found, expected, todo: `${todo}; ${unlock}` }];
  });
}

function guardKeeping(before: LockedStores, now: LockedStores, unlock: string): Refusal[] {
  if (!before.isKept || now.isKept) return [];
  return [
    {
      found: 'stream, table and bucket outlived the stack, and now one of them goes with it',
      expected: 'a removal policy that keeps all of them, as before',
      todo: `take removalPolicy: DESTROY (or what else overrides it) away; ${unlock}`,
    },
  ];
}
