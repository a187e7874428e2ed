/**
 * Blobs that may be damaged or lost behind everybody's back. The sound bytes stay known, for the auditor.
 */
import type { BlobUpload, Creation, ObjectStore, StoredObject } from '../core/ports.ts';
import type { Random } from './random.ts';

export class DamageableBlobs implements ObjectStore {
  /** As they were written. */
  readonly sound: ObjectStore;
  /** By key: the bytes that are there instead, or null where nothing is. */
  readonly #damage = new Map<string, Uint8Array | null>();

  constructor(sound: ObjectStore) {
    this.sound = sound;
  }

  async damage(key: string, random: Random): Promise<void> {
    const bytes = await this.sound.read(key);
    const kind = random.below(3);
    if (bytes === null || kind === 0) this.#damage.set(key, null);
    else if (kind === 1) this.#damage.set(key, bytes.slice(0, random.below(bytes.length)));
    else {
      const at = random.below(bytes.length);
      bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
      this.#damage.set(key, bytes);
    }
  }

  /** Keys of blobs that are damaged or lost, and not deleted since. */
  get damaged(): readonly string[] {
    return [...this.#damage.keys()];
  }

  create(key: string, bytes: Uint8Array): Promise<Creation> {
    return this.sound.create(key, bytes);
  }

  upload(key: string): Promise<BlobUpload> {
    return this.sound.upload(key);
  }

  async read(key: string): Promise<Uint8Array | null> {
    const damaged = this.#damage.get(key);
    if (damaged === undefined) return this.sound.read(key);
    return damaged === null ? null : new Uint8Array(damaged);
  }

  async readRange(key: string, from: number, to: number): Promise<Uint8Array | null> {
    const damaged = this.#damage.get(key);
    if (damaged === undefined) return this.sound.readRange(key, from, to);
    return damaged === null ? null : damaged.slice(from, to);
  }

  async list(prefix: string, after: string | null, limit: number): Promise<StoredObject[]> {
    const listed = await this.sound.list(prefix, after, limit);
    return listed.filter(({ key }) => this.#damage.get(key) !== null);
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#damage.delete(key);
    await this.sound.delete(keys);
  }
}
