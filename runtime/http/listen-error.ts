/**
 * Why the port could not be opened, in words that a person can act on.
 */

/** Codes of a machine without IPv6. */
export const NO_IPV6: ReadonlySet<string> = new Set([
  'EADDRNOTAVAIL',
  'EAFNOSUPPORT',
  'EPROTONOSUPPORT',
]);

export function explainListenError(
  error: NodeJS.ErrnoException,
  address: string,
  port: number,
): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new Error(
        `port ${port} on ${address} is in use: stop what listens there, or choose another with --port (0 takes a free one)`,
        { cause: error },
      );
    case 'EACCES':
      return new Error(
        `this user may not listen on port ${port}: choose one from 1024 up with --port`,
        { cause: error },
      );
    default:
      return new Error(`cannot listen on ${address}, port ${port}: ${error.message}`, {
        cause: error,
      });
  }
}
