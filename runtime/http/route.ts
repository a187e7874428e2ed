/**
 * What the port serves: requests and answers as values, so that a route is a function and knows nothing of HTTP versions.
 */
import type { IncomingHttpHeaders } from 'node:http';

export interface PortRequest {
  readonly method: string;
  /** Without the query; still percent-encoded. */
  readonly path: string;
  /** What stood in the place of `{name}` in the route's path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Aborts when the client has gone or the server is closing: a long poll ends then. */
  readonly signal: AbortSignal;
}

export interface PortResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** It tells what the request changed: it is sent even if too many answers wait, since to ask again is not the same. */
  readonly tellsEffect?: boolean;
}

/** Why a request is not served. `code` is for programs, `detail` for people. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  /** For a request that may be sent again as it is. */
  readonly retryAfterSeconds?: number;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `/v1/views/{view}`: a name in braces takes one segment. */
  readonly path: string;
  /** Largest body, in bytes. Default `BODY_BYTES_DEFAULT`. */
  readonly bodyBytesMax?: number;
  handle(request: PortRequest): PortResponse | Promise<PortResponse>;
  /** How this route words a refusal or a failure. Default: problem+json. */
  refuse?(refusal: Refusal): PortResponse;
}

/** An answer of JSON. */
export function json(value: unknown, status = 200): PortResponse {
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
  };
}
