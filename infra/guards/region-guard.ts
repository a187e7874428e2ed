/**
 * An event source mapping reads only a stream of its own region.
 */
import type { Refusal } from './refusal.ts';

export interface RegionFacts {
  /** Undefined where it is known only in a deploy. */
  readonly streamRegion: string | undefined;
  readonly stackRegion: string | undefined;
}

export function guardRegion({ streamRegion, stackRegion }: RegionFacts): Refusal[] {
  if (streamRegion === undefined || stackRegion === undefined) return [];
  if (streamRegion === stackRegion) return [];
  return [
    {
      found: `the given stream is in ${streamRegion}, the stack in ${stackRegion}`,
      expected: 'the same region: Lambda reads no stream of another',
      todo: `deploy the stack in ${streamRegion}`,
    },
  ];
}
