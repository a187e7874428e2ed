/**
 * What a status and an answer say of slices and the stream besides their numbers, each in a line.
 */
import { printable } from './printable.ts';
import { numberText } from './table.ts';

/** Of what nothing is folded, and what the stream does not say. */
export interface StreamStanding {
  readonly exempt?: readonly string[];
  readonly waiting?: readonly string[];
  readonly listed?: false;
}

/** Why the watermark is not known; none if it is, or if no record has come. */
export function unknownWatermarkLines({ waiting, listed }: StreamStanding): string[] {
  const lines: string[] = [];
  if (listed === false) {
    lines.push('the stream does not say now which shards it has, so the watermark is not known');
  }
  if (waiting !== undefined) {
    lines.push(
      `nothing is folded yet of ${namesOf(waiting)}, although the stream has records there or does not say now, so the watermark is not known`,
    );
  }
  return lines;
}

const NAMES_SHOWN = 5;

export function namesOf(slices: readonly string[]): string {
  const names = slices.slice(0, NAMES_SHOWN).map(printable).join(', ');
  const more = slices.length - NAMES_SHOWN;
  return more > 0 ? `${names} and ${numberText(more)} more` : names;
}
