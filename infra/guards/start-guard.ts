/**
 * Where a pipeline begins must be said where it matters, and stay the same at every synth.
 */
import type { Refusal } from './refusal.ts';

export interface StartFacts {
  readonly start: 'TRIM_HORIZON' | Date | undefined;
  /** True for an existing stream: it may hold history. */
  readonly isStreamGiven: boolean;
}

export function guardStart({ start, isStreamGiven }: StartFacts): Refusal[] {
  if (start === undefined && isStreamGiven) {
    return [
      {
        found: 'an existing stream is given, which may hold history, and no start',
        expected: '`start` beside `stream`',
        todo: "start: 'TRIM_HORIZON' takes everything that the stream still holds, start: new Date('2026-01-31T00:00:00Z') what arrives from then on",
      },
    ];
  }
  if (!(start instanceof Date)) {
    return start === undefined || start === 'TRIM_HORIZON' ? [] : [otherStart(String(start))];
  }
  if (Number.isNaN(start.getTime())) return [otherStart('a Date that is no time')];
  if (start.getTime() % 1000 === 0) return [];
  return [
    {
      found: `start is ${start.toISOString()}, not a whole second`,
      expected:
        'a fixed time in whole seconds, the same at every synth: the mapping keeps no finer',
      todo: "write the time out, as in new Date('2026-01-31T12:00:00Z'); new Date() alone is another time at each synth",
    },
  ];
}

function otherStart(found: string): Refusal {
  return {
    found: `start is ${found}`,
    expected: "'TRIM_HORIZON' or a Date; never LATEST, which can miss records between two mappings",
    todo: "give start: 'TRIM_HORIZON', or a time for only what arrives from then on",
  };
}
