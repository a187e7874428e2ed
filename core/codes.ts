/**
 * Numbers that stand for names in stored bytes. Each is written out and frozen: from the first release on a code never means
 * another name, whatever the order or number of names in the sources, and a code that is retired is not given again.
 */
import { assert } from './assert.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';
import { CorruptStateFault } from './faults.ts';

export class Codes<Name extends string> {
  readonly #what: string;
  readonly #codes: Readonly<Record<Name, number>>;
  /** By code. */
  readonly #names = new Map<number, Name>();

  /** `what` is what a name says, as a message has it: `a blob's kind`. Codes are bytes, each of one name. */
  constructor(what: string, codes: Readonly<Record<Name, number>>) {
    this.#what = what;
    this.#codes = codes;
    for (const name in codes) {
      const code = codes[name];
      const isFree = code >= 0 && code < 256 && !this.#names.has(code);
      assert(isFree, 'codes-are-of-one-name-each', () => `${code} of ${what}`);
      this.#names.set(code, name);
    }
  }

  codeOf(name: Name): number {
    return this.#codes[name];
  }

  /** Throws `CorruptStateFault` for a code of no name: what wrote it knows more than this code, or nothing did. */
  nameOf(code: number): Name {
    const name = this.#names.get(code);
    if (name === undefined) throw new CorruptStateFault(`${code} is no code of ${this.#what}`);
    return name;
  }

  encode(name: Name, writer: ByteWriter): void {
    writer.u8(this.#codes[name]);
  }

  decode(reader: ByteReader): Name {
    return this.nameOf(reader.u8());
  }
}
