/**
 * What is due in a pipeline although no record comes: every slice's owner is asked to do its part, shards that have no slice
 * yet get one that way, silent shards are looked at so that it stays known that nothing is missing there, and the state of
 * the whole is measured. What is seen of each shard is stored, so that status need not read the stream.
 */
import type { Head } from '../../core/checkpoint/head.ts';
import { parseHeads } from '../../core/checkpoint/parse-heads.ts';
import { mayHavePassed } from '../../core/elapsed.ts';
import type { AgeStore, CheckpointStore, Clock } from '../../core/ports.ts';
import type { Position } from '../../core/position.ts';
import { type ListedShard, shardsToTick, slicesWithShard } from '../../core/slice/topology.ts';
import { fewAtOnce } from '../few-at-once.ts';
import type { Telemetry } from '../telemetry.ts';
import { measurePipeline, type SeenAge } from './pipeline-gauges.ts';

export interface TickPorts {
  readonly heads: Pick<CheckpointStore, 'listHeads'>;
  /** All that the stream lists: a closed shard goes when its last record has expired. */
  readonly shards: () => Promise<readonly ListedShard[]>;
  /** Has the slice of a shard ticked, without waiting for it. */
  readonly tick: (shardId: string) => Promise<void>;
  /** Notes that nothing follows a position, if that is so and not noted lately. */
  readonly observeTip: (shardId: string, delivered: Position) => Promise<void>;
  /** Age of the oldest record of a slice's shard that no checkpoint holds; null if that is unknown now. */
  readonly behindMs: (head: Head) => Promise<number | null>;
  readonly ages: AgeStore;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

const TICKS_AT_ONCE = 20;
const LOOKS_AT_ONCE = 8;
/** A shard without records for so long is looked at. */
const SILENCE_MS = 3_600_000;

/** Throws what was met first, after all has been tried. */
export async function tickPipeline(ports: TickPorts): Promise<void> {
  const { clock } = ports;
  const { heads, failures } = parseHeads(await ports.heads.listHeads());
  const [listed] = await Promise.allSettled([ports.shards()]);
  const shards = listed.status === 'fulfilled' ? listed.value : null;
  failures.push(...(await lookAtAges(heads, slicesWithShard(heads, shards), ports)));
  const ticks = await fewAtOnce(shardsToTick(heads, shards), TICKS_AT_ONCE, ports.tick);
  const silent = heads.filter(({ deliveredArrivalMs }) =>
    mayHavePassed(deliveredArrivalMs, SILENCE_MS, clock.nowMs()),
  );
  const looks = await fewAtOnce(silent, LOOKS_AT_ONCE, ({ shardId, delivered }) =>
    ports.observeTip(shardId, delivered),
  );
  failures.push(...reasonsOf([...ticks, ...looks, listed]));
  if (failures.length > 0) throw failures[0];
}

/** Measures the pipeline, and stores what was seen; returns what was met. */
async function lookAtAges(
  heads: readonly Head[],
  live: readonly Head[],
  ports: TickPorts,
): Promise<unknown[]> {
  const { ages, clock, telemetry } = ports;
  const looks = await fewAtOnce(live, LOOKS_AT_ONCE, ports.behindMs);
  const behind = looks.map((look) => (look.status === 'fulfilled' ? look.value : null));
  const unknown = live.filter((_, index) => behind[index] === null);
  const [before] = await Promise.allSettled([ages.read(unknown.map(({ sliceId }) => sliceId))]);
  const nowMs = clock.nowMs();
  const seen = live.map((head, index): SeenAge => {
    const known = before.status === 'fulfilled' ? before.value.get(head.sliceId) : undefined;
    return { head, behindMs: behind[index] ?? null, before: known };
  });
  measurePipeline(heads, seen, nowMs, telemetry);
  // The age that is not known stays as it was seen last, with the time of that.
  const writes = await fewAtOnce(seen, TICKS_AT_ONCE, async ({ head: { sliceId }, behindMs }) => {
    if (behindMs !== null) await ages.write({ sliceId, behindMs, atMs: nowMs });
  });
  return reasonsOf([...looks, before, ...writes]);
}

function reasonsOf(results: readonly PromiseSettledResult<unknown>[]): unknown[] {
  return results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
}
