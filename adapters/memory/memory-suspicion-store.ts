/**
 * Suspicions of slices in memory.
 */
import type { Suspicion, SuspicionStore } from '../../core/ports.ts';

export class MemorySuspicionStore implements SuspicionStore {
  readonly #suspicions = new Map<string, Suspicion>();

  async read(sliceId: string): Promise<Suspicion | null> {
    const suspicion = this.#suspicions.get(sliceId);
    return suspicion === undefined ? null : structuredClone(suspicion);
  }

  async write(sliceId: string, suspicion: Suspicion | null): Promise<void> {
    if (suspicion === null) this.#suspicions.delete(sliceId);
    else this.#suspicions.set(sliceId, structuredClone(suspicion));
  }
}
