import type { AgeStore, ObservedAge } from '../../core/ports.ts';

export class MemoryAgeStore implements AgeStore {
  readonly #ages = new Map<string, ObservedAge>();

  async write(age: ObservedAge): Promise<void> {
    this.#ages.set(age.sliceId, { ...age });
  }

  async read(sliceIds: readonly string[]): Promise<ReadonlyMap<string, ObservedAge>> {
    const found = sliceIds.flatMap((sliceId) => this.#ages.get(sliceId) ?? []);
    return new Map(found.map((age) => [age.sliceId, { ...age }]));
  }
}
