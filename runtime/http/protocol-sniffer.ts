/**
 * Tells HTTP/2 with prior knowledge from HTTP/1.1 by a connection's first bytes: the former begins with a preface that is no
 * valid request of the latter.
 */
import type { Socket } from 'node:net';

export type Protocol = 'http1' | 'http2';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** No method of HTTP/1 begins like this. */
const DECISIVE_BYTES = 'PRI '.length;

/**
 * Calls `decided` once, with the socket paused and every byte still to be read from it. A client that sends nothing decisive
 * within `timeoutMs`, or ends, is cut off.
 */
export function sniffProtocol(
  socket: Socket,
  timeoutMs: number,
  decided: (protocol: Protocol) => void,
): void {
  let head: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const stop = () => {
    clearTimeout(timer);
    socket.off('data', onData);
    socket.off('close', stop);
    socket.off('end', onEnd);
    socket.off('error', ignore);
  };
  const onData = (chunk: Buffer) => {
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    const protocol = protocolOf(head);
    if (protocol === null) return;
    stop();
    socket.pause();
    socket.unshift(head);
    decided(protocol);
  };
  const onEnd = () => socket.destroy();
  // What follows an error is 'close'.
  const ignore = () => {};
  socket.on('data', onData);
  socket.on('end', onEnd);
  socket.on('close', stop);
  socket.on('error', ignore);
}

/** Null while the bytes may still become either. */
export function protocolOf(head: Uint8Array): Protocol | null {
  const length = Math.min(head.length, DECISIVE_BYTES);
  if (Buffer.compare(head.subarray(0, length), PREFACE.subarray(0, length)) !== 0) return 'http1';
  return length === DECISIVE_BYTES ? 'http2' : null;
}
