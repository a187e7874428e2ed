/**
 * Typed arrays that grow: exactly to the asked capacity, since the caller grows by factors
 * already.
 */

/**
 * `cells` with room for `capacity`, new ones holding `identity`; `cells` itself when it is large
 * enough.
 */
export function grownFloats(
  cells: Float64Array<ArrayBuffer>,
  capacity: number,
  identity = 0,
): Float64Array<ArrayBuffer> {
  if (capacity <= cells.length) return cells;
  const grown = new Float64Array(capacity);
  grown.set(cells);
  // Typed arrays start as +0: another identity (−0 too) has to be written.
  if (!Object.is(identity, 0)) grown.fill(identity, cells.length);
  return grown;
}

/** The same for bytes, whose identity is 0. */
export function grownBytes(
  cells: Uint8Array<ArrayBuffer>,
  capacity: number,
): Uint8Array<ArrayBuffer> {
  if (capacity <= cells.length) return cells;
  const grown = new Uint8Array(capacity);
  grown.set(cells);
  return grown;
}
