/**
 * Nonces that count up from 1: unique within one instance, so all who write to the same stores share it; the same in every
 * run.
 */
import { assert } from '../../core/assert.ts';
import type { NonceSource } from '../../core/ports.ts';

const HEX_DIGITS = 16;

export class CountingNonces implements NonceSource {
  #count = 0;

  nonce(): string {
    this.#count++;
    assert(Number.isSafeInteger(this.#count), 'nonces-never-repeat');
    return this.#count.toString(16).padStart(HEX_DIGITS, '0');
  }
}
