/**
 * Who may speak to the port. It listens on the loopback address only, so what is left to refuse is a browser that a foreign
 * page uses: by a name that resolves to this machine (Host), or across sites (Origin, Sec-Fetch-Site). No CORS header is
 * ever sent.
 */
import type { Refusal } from './route.ts';

export interface GuardedRequest {
  readonly method: string;
  readonly path: string;
  /** Every name that the request gives to this server: Host, :authority. */
  readonly authorities: readonly string[];
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  readonly contentType: string | undefined;
  /** Headers that must not be repeated, and are: what one part of a request says another may contradict. */
  readonly repeated: readonly string[];
}

/** What the guard judges by, and what says where a body ends. */
const SINGLE_HEADERS: ReadonlySet<string> = new Set([
  ...['host', ':authority', 'origin', 'sec-fetch-site'],
  ...['content-type', 'content-length', 'transfer-encoding'],
]);

/** `rawHeaders` are names and values in turn, as they came. */
export function repeatedHeaders(rawHeaders: readonly string[]): string[] {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase();
    if (seen.has(name) && SINGLE_HEADERS.has(name)) repeated.add(name);
    seen.add(name);
  }
  return [...repeated];
}

/** Node's HTTP/2 client writes ::1 without brackets. */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]', '::1']);
const AUTHORITY = /^(?<host>\[[0-9a-f:.]+\]|::1|[a-z0-9_.-]+)(?::[0-9]{1,5})?$/;
const ORIGIN = /^https?:\/\/(?<authority>[^/]+)$/;

/** Null if the request may be served. `allowHosts` are names besides those of the loopback address, in lower case. */
export function refusalOf(
  request: GuardedRequest,
  allowHosts: ReadonlySet<string>,
): Refusal | null {
  return (
    refuseAmbiguous(request) ??
    refuseAuthority(request, allowHosts) ??
    refuseOtherSite(request) ??
    refuseContentType(request)
  );
}

/** Which of two hosts a request means is not for the server to choose. */
function refuseAmbiguous({ path, authorities, repeated }: GuardedRequest): Refusal | null {
  const [name] = repeated;
  if (name !== undefined) {
    return bad('repeated-header', `The request has more than one ${name} header: send it once.`);
  }
  const [first, ...others] = authorities.map((authority) => authority.toLowerCase());
  if (others.some((other) => other !== first)) {
    const hosts = authorities.map((authority) => `'${authority}'`).join(' and ');
    return bad('hosts-differ', `The request names two hosts, ${hosts}: name one.`);
  }
  if (path.startsWith('/')) return null;
  const detail = `The target '${path}' is no path: it begins with / here, and the host goes into the Host header.`;
  return bad('wrong-target', detail);
}

function refuseAuthority(request: GuardedRequest, allowHosts: ReadonlySet<string>): Refusal | null {
  if (request.authorities.length === 0) {
    return forbidden('host-missing', 'The request names no host: it needs a Host header.');
  }
  for (const authority of request.authorities) {
    const host = AUTHORITY.exec(authority.toLowerCase())?.groups?.['host'];
    if (host !== undefined && (LOOPBACK_HOSTS.has(host) || allowHosts.has(host))) continue;
    return forbidden(
      'host-not-allowed',
      `The host '${authority}' is not this machine's: use localhost or 127.0.0.1, or start with --allow-host ${host ?? 'NAME'}.`,
    );
  }
  return null;
}

function refuseOtherSite(request: GuardedRequest): Refusal | null {
  if (request.fetchSite === 'cross-site') {
    return forbidden('cross-site', 'Pages of other sites may not use this server.');
  }
  if (request.origin === undefined) return null;
  const authority = ORIGIN.exec(request.origin.toLowerCase())?.groups?.['authority'];
  const own = request.authorities.map((name) => name.toLowerCase());
  if (authority !== undefined && own.includes(authority)) return null;
  return forbidden(
    'origin-not-allowed',
    `Pages of '${request.origin}' may not use this server, only its own.`,
  );
}

/** A page can send other content types across sites without asking; JSON it cannot. */
function refuseContentType(request: GuardedRequest): Refusal | null {
  if (request.method === 'GET' || request.method === 'HEAD') return null;
  if (!request.path.startsWith('/v1/')) return null;
  const essence = request.contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (essence === 'application/json') return null;
  return {
    status: 415,
    code: 'content-type',
    detail: `${request.method} ${request.path} needs 'content-type: application/json', not '${request.contentType ?? ''}'.`,
  };
}

function bad(code: string, detail: string): Refusal {
  return { status: 400, code, detail };
}

function forbidden(code: string, detail: string): Refusal {
  return { status: 403, code, detail };
}
