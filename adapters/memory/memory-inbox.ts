/**
 * Requests to slices' owners in memory. What is stored shares nothing with what was passed in or given out.
 */
import { assert } from '../../core/assert.ts';
import type { Inbox, RedriveOutcome, RedriveRequest } from '../../core/ports.ts';
import { bySortKey } from './stored-copy.ts';

export class MemoryInbox implements Inbox {
  readonly #requests = new Map<string, Map<string, RedriveRequest>>();
  /** By slice and id. */
  readonly #begun = new Map<string, number>();

  async put(request: RedriveRequest): Promise<void> {
    const requests = this.#of(request.sliceId);
    if (!requests.has(request.id)) requests.set(request.id, structuredClone(request));
  }

  async list(sliceId: string, after: string | null, limit: number): Promise<RedriveRequest[]> {
    assert(limit > 0, 'list-limit-is-positive');
    return [...this.#of(sliceId).values()]
      .filter(({ id }) => after === null || id > after)
      .sort(bySortKey(({ id }) => id))
      .slice(0, limit)
      .map((request) => structuredClone(request));
  }

  async begin(sliceId: string, id: string): Promise<number> {
    const key = JSON.stringify([sliceId, id]);
    const count = (this.#begun.get(key) ?? 0) + 1;
    if (this.#of(sliceId).has(id)) this.#begun.set(key, count);
    return count;
  }

  async settle(sliceId: string, id: string): Promise<void> {
    this.#begun.delete(JSON.stringify([sliceId, id]));
  }

  async finish(sliceId: string, id: string, done: RedriveOutcome): Promise<void> {
    const request = this.#of(sliceId).get(id);
    if (request === undefined) return;
    this.#begun.delete(JSON.stringify([sliceId, id]));
    this.#of(sliceId).set(id, { ...request, done: structuredClone(done) });
  }

  async delete(sliceId: string, ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#of(sliceId).delete(id);
  }

  #of(sliceId: string): Map<string, RedriveRequest> {
    let requests = this.#requests.get(sliceId);
    if (requests === undefined) {
      requests = new Map();
      this.#requests.set(sliceId, requests);
    }
    return requests;
  }
}
