/**
 * Reads a request's body within bounds of size and time.
 */
import type { Readable } from 'node:stream';

export type BodyRead =
  | { readonly outcome: 'read'; readonly body: Buffer }
  | { readonly outcome: 'too-large' }
  | { readonly outcome: 'too-slow' }
  /** Other requests hold all the memory that bodies may take. */
  | { readonly outcome: 'overloaded' }
  /** The client has gone. */
  | { readonly outcome: 'gone' };

export interface BodyBounds {
  readonly bytesMax: number;
  readonly timeoutMs: number;
}

/** Bytes of bodies that are being read or served, of all connections together. */
export class BodyBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  take(byteLength: number): boolean {
    if (this.#bytes + byteLength > this.#bytesMax) return false;
    this.#bytes += byteLength;
    return true;
  }

  giveBack(byteLength: number): void {
    this.#bytes -= byteLength;
  }
}

/**
 * What is beyond the bounds is read and dropped, so that a client which sends first and listens afterwards gets its answer;
 * but not for longer than `timeoutMs`. Of the budget it holds `body.length` on return, and nothing if the outcome is
 * another.
 */
export function readBody(
  stream: Readable,
  bounds: BodyBounds,
  budget: BodyBudget,
): Promise<BodyRead> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let refused: 'too-large' | 'overloaded' | null = null;

    const finish = (read: BodyRead) => {
      clearTimeout(timer);
      stream.off('data', onData);
      stream.off('end', onEnd);
      stream.off('close', onClose);
      if (read.outcome !== 'read') budget.giveBack(length);
      resolve(read);
    };
    const refuse = (outcome: 'too-large' | 'overloaded') => {
      refused = outcome;
      chunks.length = 0;
      budget.giveBack(length);
      length = 0;
    };
    const onData = (chunk: Buffer) => {
      if (refused !== null) return;
      if (length + chunk.length > bounds.bytesMax) return refuse('too-large');
      if (!budget.take(chunk.length)) return refuse('overloaded');
      length += chunk.length;
      chunks.push(chunk);
    };
    const onEnd = () => {
      if (refused !== null) return finish({ outcome: refused });
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length);
      finish({ outcome: 'read', body });
    };
    const onClose = () => finish({ outcome: 'gone' });
    const onTimeout = () => finish({ outcome: refused ?? 'too-slow' });

    const timer = setTimeout(onTimeout, bounds.timeoutMs);
    stream.on('data', onData);
    stream.on('end', onEnd);
    stream.on('close', onClose);
    // A connection that breaks closes the stream as well; without a listener its error would end the process.
    stream.on('error', () => {});
  });
}
