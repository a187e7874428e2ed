/**
 * What is measured of the whole pipeline, by its HEADs.
 */
import type { Head } from '../../core/checkpoint/head.ts';
import { comparePositions } from '../../core/position.ts';
import { METRIC } from '../deployment-contract.ts';
import type { Telemetry } from '../telemetry.ts';

export function measurePipeline(heads: readonly Head[], nowMs: number, telemetry: Telemetry): void {
  const ages = heads
    .filter(({ cursor, delivered }) => comparePositions(cursor, delivered) < 0)
    // Before the first checkpoint nothing but the last record's arrival is known.
    .map(({ flippedMs, deliveredArrivalMs }) => nowMs - (flippedMs || deliveredArrivalMs));
  telemetry.milliseconds(METRIC.checkpointAgeMs, Math.max(0, ...ages));
  telemetry.bytes(
    METRIC.stateBytes,
    heads.reduce((sum, { stateBytes }) => sum + stateBytes, 0),
  );
  telemetry.count(METRIC.slices, heads.length);
  const notOpen = heads.filter(({ status }) => status !== 'OPEN' && status !== 'SEALED');
  telemetry.count(METRIC.slicesNotOpen, notOpen.length);
}
