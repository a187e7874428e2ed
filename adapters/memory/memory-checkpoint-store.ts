/**
 * HEADs in memory. A call takes effect at once, so that conditional writes are linearizable; what is stored shares no byte
 * with what was passed in or given out.
 */
import type { CheckpointStore, HeadItem, HeadWrite } from '../../core/ports.ts';
import { bySortKey, copyBytes } from './stored-copy.ts';

export class MemoryCheckpointStore implements CheckpointStore {
  readonly #heads = new Map<string, HeadItem>();
  readonly #holds = new Map<string, string>();

  async readHead(sliceId: string): Promise<HeadItem | null> {
    return this.#copyOf(sliceId);
  }

  async createHead(item: HeadItem): Promise<HeadWrite> {
    if (this.#heads.has(item.sliceId)) return this.#refused(item.sliceId);
    return this.#apply(item);
  }

  /**
   * A `delivered` that would go back under the right revision is refused like a lost race, as DynamoDB does with a condition
   * that does not hold: the caller finds HEAD as it expected it, and has broken an invariant of its own.
   */
  async writeHead(item: HeadItem, ifRevision: number, passing: string | null): Promise<HeadWrite> {
    const current = this.#heads.get(item.sliceId);
    const hold = this.#holds.get(item.sliceId) ?? null;
    const isAllowed =
      current !== undefined &&
      current.revision === ifRevision &&
      current.delivered <= item.delivered &&
      (hold === null || hold === passing);
    return isAllowed ? this.#apply(item) : this.#refused(item.sliceId);
  }

  async holdHead(sliceId: string, hold: string | null, instead: string | null): Promise<void> {
    const standing = this.#holds.get(sliceId) ?? null;
    if (standing !== null && standing !== instead) return;
    if (hold === null || !this.#heads.has(sliceId)) this.#holds.delete(sliceId);
    else this.#holds.set(sliceId, hold);
  }

  async listHeads(): Promise<HeadItem[]> {
    const sliceIds = [...this.#heads.keys()];
    return sliceIds
      .map((sliceId) => this.#copyOf(sliceId) as HeadItem)
      .sort(bySortKey((item) => item.sliceId));
  }

  #apply(item: HeadItem): HeadWrite {
    this.#heads.set(item.sliceId, copyItem(item));
    this.#holds.delete(item.sliceId);
    return { outcome: 'applied' };
  }

  #refused(sliceId: string): HeadWrite {
    return { outcome: 'refused', current: this.#copyOf(sliceId) };
  }

  #copyOf(sliceId: string): HeadItem | null {
    const item = this.#heads.get(sliceId);
    const hold = this.#holds.get(sliceId);
    if (item === undefined) return null;
    return hold === undefined ? copyItem(item) : { ...copyItem(item), hold };
  }
}

function copyItem({ sliceId, revision, delivered, body }: HeadItem): HeadItem {
  return { sliceId, revision, delivered, body: copyBytes(body) };
}
