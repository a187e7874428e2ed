/**
 * How long after its own time a record reaches the stream.
 */
import { parseDuration } from '../core/definition/duration.ts';

/**
 * A constant (milliseconds, or text such as `10m`); a distribution by its median, its 99th percentile and its maximum; or a
 * function that draws milliseconds from numbers in [0, 1). Negative ones mean a producer whose clock is ahead.
 */
export type Delays =
  | number
  | string
  | {
      readonly p50: number | string;
      readonly p99?: number | string;
      readonly max?: number | string;
    }
  | ((random: () => number) => number);

export class InvalidDelay extends Error {
  constructor(found: string) {
    super(
      `the delay ${found}: expected milliseconds, text such as "10m", {p50, p99, max} in that order of size, or a function`,
    );
    this.name = 'InvalidDelay';
  }
}

/** A function that draws one delay in milliseconds. */
export function delayDraw(delays: Delays): (random: () => number) => number {
  if (typeof delays === 'function') return delays;
  if (typeof delays !== 'object') {
    const delayMs = msOf(delays);
    return () => delayMs;
  }
  const p50 = msOf(delays.p50);
  const p99 = delays.p99 === undefined ? msOf(delays.max ?? delays.p50) : msOf(delays.p99);
  const max = delays.max === undefined ? p99 : msOf(delays.max);
  if (!(p50 >= 0 && p99 >= p50 && max >= p99)) throw new InvalidDelay(JSON.stringify(delays));
  return (random) => {
    const rank = random();
    if (rank < 0.5) return between(0, p50, rank / 0.5);
    if (rank < 0.99) return between(p50, p99, (rank - 0.5) / 0.49);
    return between(p99, max, (rank - 0.99) / 0.01);
  };
}

/** True if two seeds may give different delays. */
export function isDrawn(delays: Delays | undefined): boolean {
  return typeof delays === 'object' || typeof delays === 'function';
}

export function msOf(delay: number | string): number {
  if (typeof delay === 'number' && Number.isFinite(delay)) return delay;
  const text = String(delay);
  const parsed = parseDuration(text.replace(/^-/, ''));
  if (parsed === null) throw new InvalidDelay(JSON.stringify(delay));
  return text.startsWith('-') ? -parsed.ms : parsed.ms;
}

/** Evenly by order of magnitude, as delays are: most of the way from a second to an hour is minutes. */
function between(least: number, most: number, share: number): number {
  return (least + 1) * ((most + 1) / (least + 1)) ** share - 1;
}
