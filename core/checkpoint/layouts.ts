/**
 * The layouts of the parts of one manifest, each once: parts that were written before a change of columns keep theirs.
 */
import { ByteWriter } from '../bytes.ts';
import { encodeStoredView, type StoredView } from '../state/view-life.ts';

export class Layouts {
  readonly all: StoredView[] = [];
  /** Index by the layout's bytes. */
  readonly #byBytes = new Map<string, number>();
  readonly #known = new Map<StoredView, number>();

  indexOf(layout: StoredView): number {
    let index = this.#known.get(layout);
    if (index !== undefined) return index;
    const writer = new ByteWriter();
    encodeStoredView(layout, writer);
    const bytes = String.fromCharCode(...writer.peek());
    index = this.#byBytes.get(bytes) ?? this.all.push(layout) - 1;
    this.#byBytes.set(bytes, index);
    this.#known.set(layout, index);
    return index;
  }
}
