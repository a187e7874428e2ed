/**
 * Purging the quarantine: bytes of records that are not wanted back are deleted for good. The slices' ledgers are left as they
 * are, so a purged record goes on counting as quarantined, and a redrive of it is refused by that name.
 *
 * Only what surely waits is deleted: a fallback or a rollback may undo that a record came back, and then its bytes are all
 * that there is of it.
 */
import { parseHead } from '../checkpoint/head.ts';
import { PURGE_IDS_MAX } from '../limits.ts';
import type { CheckpointStore, QuarantineIndex } from '../ports.ts';
import type { DamagedRun } from './damaged-runs.ts';
import { nextOfChoice, type RecordChoice } from './quarantine-body.ts';
import type { Queries } from './queries.ts';
import { type Asked, guarded } from './query-problem.ts';
import type { QuarantineStandings } from './waiting-records.ts';

export interface PurgeSummary {
  /** Records whose bytes this call deleted. */
  readonly purged: number;
  /** Of the ids that were given, those of no record that is kept. */
  readonly unknown: readonly string[];
  /** Chosen records that were left as they are, since they came back or may have. */
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
  /** Results that may say which records came back, and that cannot be read. */
  readonly damaged?: readonly DamagedRun[];
  /** More is selected than one call takes: what the next call's body has as `next`. */
  readonly next?: string;
}

export interface PurgePorts {
  readonly heads: CheckpointStore;
  readonly quarantine: QuarantineIndex;
}

const WHY_NOT = {
  'came-back':
    'it came back: its bytes go by themselves, once no fallback or rollback can undo that',
  unreadable: 'results that may say whether it came back cannot be read',
};

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
    const looked = await this.#queries.quarantinedStandings(choice, PURGE_IDS_MAX);
    if (!looked.ok) return looked;
    const { standings, ...runs } = looked.value;
    return guarded(async () => {
      const summary = await this.#purgeWaiting(standings, 'ids' in choice);
      const last = [...standings.keys()].at(-1);
      const isFull = !('ids' in choice) && standings.size === PURGE_IDS_MAX && last !== undefined;
      return {
        ...summary,
        ...runs,
        ...(isFull ? { next: nextOfChoice(last) } : {}),
      };
    });
  }

  async #purgeWaiting(
    standings: QuarantineStandings['standings'],
    areGiven: boolean,
  ): Promise<Omit<PurgeSummary, 'next' | 'damaged'>> {
    const waiting: string[] = [];
    const unknown: string[] = [];
    const refused: { id: string; reason: string }[] = [];
    for (const [id, standing] of standings) {
      if (standing === 'waits') waiting.push(id);
      else if (standing === 'unknown') unknown.push(id);
      else refused.push({ id, reason: WHY_NOT[standing] });
    }
    const bytesOf = areGiven ? await this.#withBytes(waiting) : new Set(waiting);
    // All of them: a purge that broke off may have left something of one that is told to be purged.
    await this.#delete(waiting);
    unknown.push(...waiting.filter((id) => !bytesOf.has(id)));
    return { purged: bytesOf.size, unknown, refused };
  }

  /** Those of which bytes are kept. */
  async #withBytes(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const kept = new Set<string>();
    for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
      const some = ids.slice(at, at + READ_AT_ONCE);
      const found = await this.#ports.quarantine.read(some);
      for (const id of some) if ((found.get(id) ?? 'purged') !== 'purged') kept.add(id);
    }
    return kept;
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
