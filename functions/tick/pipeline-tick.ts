/**
 * What is due in a pipeline although no record comes: every slice's owner is asked to do its part, shards that have no slice
 * yet get one that way, silent shards are looked at so that it stays known that nothing is missing there, and the state of
 * the whole is measured.
 */
import type { Head } from '../../core/checkpoint/head.ts';
import { parseHeads } from '../../core/checkpoint/parse-heads.ts';
import { mayHavePassed } from '../../core/elapsed.ts';
import type { CheckpointStore, Clock } from '../../core/ports.ts';
import type { Position } from '../../core/position.ts';
import { fewAtOnce } from '../few-at-once.ts';
import type { Telemetry } from '../telemetry.ts';
import { measurePipeline } from './pipeline-gauges.ts';

export interface TickPorts {
  readonly heads: Pick<CheckpointStore, 'listHeads'>;
  readonly openShardIds: () => Promise<readonly string[]>;
  /** Has the slice of a shard ticked, without waiting for it. */
  readonly tick: (shardId: string) => Promise<void>;
  /** Notes that nothing follows a position, if that is so and not noted lately. */
  readonly observeTip: (shardId: string, delivered: Position) => Promise<void>;
  /** Age of the oldest record of a slice's shard that no checkpoint holds; null if nobody can tell now. */
  readonly behindMs: (head: Head) => Promise<number | null>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

const TICKS_AT_ONCE = 20;
const LOOKS_AT_ONCE = 8;
/** A shard without records for so long is looked at. */
const SILENCE_MS = 3_600_000;

/** Throws what was met first, after all has been tried. */
export async function tickPipeline(ports: TickPorts): Promise<void> {
  const { clock, telemetry } = ports;
  const { heads, failures } = parseHeads(await ports.heads.listHeads());
  const live = heads.filter(({ status }) => status !== 'SEALED');
  const ages = await fewAtOnce(live, LOOKS_AT_ONCE, ports.behindMs);
  const known = ages.flatMap((age) => (age.status === 'fulfilled' ? [age.value ?? 0] : []));
  measurePipeline(heads, known, telemetry);
  // Shards that take records, and those whose slices may still have something to do.
  const [open] = await Promise.allSettled([ports.openShardIds()]);
  const isListed = open.status === 'fulfilled';
  const shardIds = [...(isListed ? open.value : []), ...live.map(({ shardId }) => shardId)];
  const ticks = await fewAtOnce([...new Set(shardIds)].sort(), TICKS_AT_ONCE, ports.tick);
  const silent = heads.filter(({ deliveredArrivalMs }) =>
    mayHavePassed(deliveredArrivalMs, SILENCE_MS, clock.nowMs()),
  );
  const looks = await fewAtOnce(silent, LOOKS_AT_ONCE, ({ shardId, delivered }) =>
    ports.observeTip(shardId, delivered),
  );
  for (const result of [...ages, ...ticks, ...looks, open]) {
    if (result.status === 'rejected') failures.push(result.reason);
  }
  if (failures.length > 0) throw failures[0];
}
