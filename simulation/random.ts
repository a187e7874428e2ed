/**
 * The draws of a simulation: sfc32, seeded by text. Each actor draws from a stream of its own (`fork`), so that one draw more
 * in one place moves nothing in another.
 */
import { assert } from '../core/assert.ts';
import { hashText } from '../core/hash.ts';

const WARM_UP = 12;

export class Random {
  readonly #seed: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: string) {
    this.#seed = seed;
    const words = new Uint32Array(4);
    hashText(seed, words);
    [this.#a, this.#b, this.#c] = words as unknown as [number, number, number];
    for (let round = 0; round < WARM_UP; round++) this.word();
  }

  /** An independent stream: the same name gives the same one, whatever was drawn here. */
  fork(name: string): Random {
    return new Random(`${this.#seed}/${name}`);
  }

  /** 32 random bits. */
  word(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** In [0, 1). */
  fraction(): number {
    return this.word() / 2 ** 32;
  }

  /** A whole number from 0 to `limit` − 1. */
  below(limit: number): number {
    assert(limit >= 1, 'a-draw-has-a-choice', () => `${limit}`);
    return Math.floor(this.fraction() * limit);
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }
}
