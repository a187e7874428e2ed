/**
 * Names of time zones, as the runtime's own time zone data knows them. A name is kept as it is written, because the
 * spelling that the runtime prefers (Asia/Kolkata, Asia/Calcutta) changes between its versions.
 */
import { nearestWord } from './spelling.ts';

/** True for a zone that the runtime knows, in the right case: IANA names, and offsets such as "+05:30". */
export function isZoneName(name: string): boolean {
  const known = spelling(name);
  return known !== null && (known === name || known.toLowerCase() !== name.toLowerCase());
}

/** The name that was meant: the right case, the zone of a city, or without a typing error. */
export function nearestZoneName(name: string): string | null {
  const known = spelling(name);
  if (known !== null) return known;
  const names = ['UTC', ...Intl.supportedValuesOf('timeZone')];
  const city = name.toLowerCase().replaceAll(' ', '_');
  const ofCity = names.find((candidate) => candidate.toLowerCase().endsWith(`/${city}`));
  return ofCity ?? nearestWord(name, names);
}

function spelling(name: string): string | null {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}
