/**
 * Windows of one size, end to end.
 */
import { DayWindows, EpochWindows } from '../../time/window.ts';
import { Zone } from '../../time/zone.ts';
import { type Duration, formatHours } from '../duration.ts';
import { propertyPath } from '../problem.ts';
import { readDuration } from '../property-reader.ts';
import type { WindowDescriptor } from './window-descriptor.ts';

/** Windows of this size, end to end. Days (`"1d"`, `"7d"`) follow the zone; other sizes are aligned to the epoch. */
export interface TumblingJson {
  tumbling: Duration;
}

/** `days` > 0: whole days of `Plan.zone`, `sizeMs` is days × 24 h; otherwise windows are aligned to the epoch. */
export interface Tumbling {
  readonly kind: 'tumbling';
  readonly sizeMs: number;
  readonly days: number;
}

/** Windows of one size, end to end. `tumbling('1d')` is a day of the pipeline's zone, `tumbling('24h')` is not. */
export function tumbling(size: Duration): TumblingJson {
  return { tumbling: size };
}

export const TUMBLING = {
  kind: 'tumbling',
  // Whether a record's window has closed, so that the record is late.
  foldOrder: 'watermark',
  properties: ['tumbling'],
  read: (properties, path, problems): Tumbling => {
    const at = propertyPath(path, 'tumbling');
    const size = properties.get('tumbling');
    const duration = readDuration(size, at, { msMin: 1 }, problems);
    if (duration.mixed) {
      const hint = 'a day of the zone may have 23 or 25 hours; write hours if you mean hours';
      problems.add(at, size, 'whole days, or hours and smaller units, not both', hint);
    }
    return { kind: 'tumbling', sizeMs: duration.ms, days: duration.days };
  },
  toJson: (window) => tumbling(sizeOf(window)),
  describe: (window) => `windows of ${sizeOf(window)}`,
  span: ({ sizeMs, days }) => ({ lengthMs: sizeMs, days }),
  createAssigner: ({ sizeMs, days }, zone) =>
    days > 0 ? new DayWindows(days, new Zone(zone)) : new EpochWindows(sizeMs),
} as const satisfies WindowDescriptor<Tumbling>;

function sizeOf({ sizeMs, days }: Tumbling): Duration {
  return days > 0 ? `${days}d` : formatHours(sizeMs);
}
