/**
 * Purging the quarantine: bytes of records that are not wanted back are deleted for good. The slices' ledgers are left as they
 * are, so a purged record goes on counting as quarantined, and a redrive of it is refused by that name.
 */
import { parseHead } from '../checkpoint/head.ts';
import { PURGE_IDS_MAX } from '../limits.ts';
import type { CheckpointStore, QuarantineIndex } from '../ports.ts';
import { nextOfChoice, type RecordChoice } from './quarantine-body.ts';
import type { Queries } from './queries.ts';
import { type Asked, guarded } from './query-problem.ts';

export interface PurgeSummary {
  /** Records whose bytes this call deleted. */
  readonly purged: number;
  /** Of the ids that were given, those of no record that is kept. */
  readonly unknown: readonly string[];
  /** More is selected than one call takes: what the next call's body has as `next`. */
  readonly next?: string;
}

export interface PurgePorts {
  readonly heads: CheckpointStore;
  readonly quarantine: QuarantineIndex;
}

/** Records that are looked up at once, before they are deleted. */
const READ_AT_ONCE = 25;

export class Purges {
  readonly #queries: Queries;
  readonly #ports: PurgePorts;

  /** `queries` say what waits in the quarantine: their images are warm. */
  constructor(queries: Queries, ports: PurgePorts) {
    this.#queries = queries;
    this.#ports = ports;
  }

  /** Deletes at most `PURGE_IDS_MAX` of the chosen records. A call that fails may have deleted some: it can be repeated. */
  async purge(choice: RecordChoice): Promise<Asked<PurgeSummary>> {
    if ('ids' in choice) return guarded(() => this.#purgeIds(choice.ids));
    const { selection, after } = choice;
    const ids = await this.#queries.quarantinedIds(selection, after, PURGE_IDS_MAX);
    if (!ids.ok) return ids;
    return guarded(async () => {
      await this.#delete(ids.value);
      const last = ids.value.at(-1);
      const isFull = ids.value.length === PURGE_IDS_MAX && last !== undefined;
      const next = isFull ? { next: nextOfChoice(last) } : {};
      return { purged: ids.value.length, unknown: [], ...next };
    });
  }

  async #purgeIds(ids: readonly string[]): Promise<PurgeSummary> {
    const distinct = [...new Set(ids)];
    const kept: string[] = [];
    for (let at = 0; at < distinct.length; at += READ_AT_ONCE) {
      const some = distinct.slice(at, at + READ_AT_ONCE);
      const found = await this.#ports.quarantine.read(some);
      kept.push(...some.filter((id) => (found.get(id) ?? 'purged') !== 'purged'));
    }
    // All of them: a purge that broke off may have left something of one that is told to be purged.
    await this.#delete(distinct);
    const known = new Set(kept);
    return { purged: kept.length, unknown: distinct.filter((id) => !known.has(id)) };
  }

  async #delete(ids: readonly string[]): Promise<void> {
    const bySlice = new Map<string, string[]>();
    for (const id of ids) {
      const sliceId = id.slice(0, id.indexOf('/'));
      const mine = bySlice.get(sliceId);
      if (mine === undefined) bySlice.set(sliceId, [id]);
      else mine.push(id);
    }
    const heads = new Map(
      (await this.#ports.heads.listHeads()).map(parseHead).map((head) => [head.sliceId, head]),
    );
    for (const [sliceId, mine] of bySlice) {
      const forgetBelow = heads.get(sliceId)?.collectBelow ?? 0;
      await this.#ports.quarantine.purge(sliceId, mine, forgetBelow);
    }
  }
}
