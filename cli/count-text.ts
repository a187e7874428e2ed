/**
 * Counts for a person: `1 record`, `12,345 records`.
 */

/** `noun` takes an s where there is not exactly one. */
export function countText(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
