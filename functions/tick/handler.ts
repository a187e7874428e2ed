/**
 * The tick function, once a minute: every slice's owner is asked to do what is due although no record comes, shards that
 * have no slice yet get one that way, silent shards are looked at so that it stays known that nothing is missing there, and
 * the state of the whole pipeline is measured.
 */
import { type Head, parseHead } from '../../core/checkpoint/head.ts';
import type { CheckpointStore, Clock } from '../../core/ports.ts';
import { comparePositions, type Position } from '../../core/position.ts';
import { METRIC } from '../deployment-contract.ts';
import { fewAtOnce } from '../few-at-once.ts';
import type { Telemetry } from '../telemetry.ts';

export interface TickPorts {
  readonly heads: Pick<CheckpointStore, 'listHeads'>;
  readonly openShardIds: () => Promise<readonly string[]>;
  /** Has the slice of a shard ticked, without waiting for it. */
  readonly tick: (shardId: string) => Promise<void>;
  /** Notes that nothing follows a position, if that is so and not noted lately. */
  readonly observeTip: (shardId: string, delivered: Position) => Promise<void>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

const TICKS_AT_ONCE = 20;
const LOOKS_AT_ONCE = 4;
/** A shard without records for so long is looked at. */
const SILENCE_MS = 3_600_000;

export function createTickHandler(ports: TickPorts): () => Promise<void> {
  return async () => {
    const { telemetry } = ports;
    try {
      const heads = (await ports.heads.listHeads()).map(parseHead);
      measure(heads, ports);
      const shardIds = await shardsOf(heads, ports);
      const ticks = await fewAtOnce(shardIds, TICKS_AT_ONCE, ports.tick);
      const nowMs = ports.clock.nowMs();
      const silent = heads.filter(
        ({ deliveredArrivalMs }) => nowMs - deliveredArrivalMs > SILENCE_MS,
      );
      const looks = await fewAtOnce(silent, LOOKS_AT_ONCE, ({ shardId, delivered }) =>
        ports.observeTip(shardId, delivered),
      );
      throwFirst([...ticks, ...looks]);
    } catch (error) {
      telemetry.count(METRIC.faults, 1);
      telemetry.failure('tick failed', error, {});
      throw error;
    } finally {
      telemetry.publish();
    }
  };
}

/** Shards that take records, and those whose slices may still have something to do. */
async function shardsOf(heads: readonly Head[], ports: TickPorts): Promise<string[]> {
  const live = heads.filter(({ status }) => status !== 'SEALED').map(({ shardId }) => shardId);
  return [...new Set([...(await ports.openShardIds()), ...live])].sort();
}

function measure(heads: readonly Head[], { clock, telemetry }: TickPorts): void {
  const nowMs = clock.nowMs();
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

function throwFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
