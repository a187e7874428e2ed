/**
 * What is measured of the whole pipeline, by its HEADs.
 */
import type { Head } from '../../core/checkpoint/head.ts';
import { METRIC } from '../deployment-contract.ts';
import type { Telemetry } from '../telemetry.ts';

/** `agesMs`: of each shard's oldest record that no checkpoint holds, where that is known. */
export function measurePipeline(
  heads: readonly Head[],
  agesMs: readonly number[],
  telemetry: Telemetry,
): void {
  telemetry.milliseconds(METRIC.checkpointAgeMs, Math.max(0, ...agesMs));
  telemetry.bytes(
    METRIC.stateBytes,
    heads.reduce((sum, { stateBytes }) => sum + stateBytes, 0),
  );
  telemetry.count(METRIC.slices, heads.length);
  const notOpen = heads.filter(({ status }) => status !== 'OPEN' && status !== 'SEALED');
  telemetry.count(METRIC.slicesNotOpen, notOpen.length);
}
