/**
 * What every store in memory needs: bytes of its own, and the order of stored keys.
 */

/** Bytes that share no memory with `bytes`, nor with the rest of a larger buffer behind them. */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

/** Orders by a key as stores do: by its characters, which are ASCII, and not by any language's rules. */
export function bySortKey<T>(keyOf: (item: T) => string): (a: T, b: T) => number {
  return (a, b) => {
    const [left, right] = [keyOf(a), keyOf(b)];
    return left < right ? -1 : left > right ? 1 : 0;
  };
}
