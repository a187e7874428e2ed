/**
 * An instant as ISO 8601 text in UTC, without a fraction that is zero: `2000-01-01T00:00:00Z`.
 */
export function isoText(timeMs: number): string {
  return new Date(timeMs).toISOString().replace('.000Z', 'Z');
}
