/**
 * Calls of the query and admin APIs, signed where their place says so, with errors that a person can act on.
 */
import { noCredentialsText, refusalText } from './aws-refusal.ts';
import { fetchDirect } from './direct-fetch.ts';
import { isLoopback, type QueryPlace } from './query-place.ts';
import type { AccessKey, UnsignedRequest } from './request-signer.ts';

interface Problem {
  readonly title?: string;
  readonly detail?: string;
  readonly expected?: unknown;
  readonly found?: unknown;
  readonly path?: string;
}

interface Signer {
  readonly accessKeyId: string;
  readonly region: string;
}

// Longer than the functions take; a local answer has all the time that it needs.
const QUERY_MS_MAX = 70_000;
/** Large states take a while to write. Node itself waits 5 minutes for the first byte. */
const ADMIN_MS_MAX = 290_000;

/** The JSON answer of a GET, or of a POST with a body. Calls to a place that is a mere URL are not signed. */
export async function callQueryApi<T>(
  at: string | QueryPlace,
  path: string,
  body?: unknown,
  timeoutMs = body === undefined ? QUERY_MS_MAX : ADMIN_MS_MAX,
): Promise<T> {
  const place = typeof at === 'string' ? { url: at, region: null } : at;
  const { request, signer } = await requestTo(place, path, body);
  const { response, text } = await answerTo(request, place, timeoutMs);
  if (response.ok) return parsedAnswer(text, place.url) as T;
  const isHere = isLoopback(new URL(place.url)) && signer === null;
  const refused = isHere
    ? null
    : (redirectText(response, place.url) ??
      refusedText(response, text, place.url, place.isAdmin ?? false, signer));
  throw new Error(refused ?? messageOf(response.status, text));
}

async function requestTo(
  { url, region }: QueryPlace,
  path: string,
  body: unknown,
): Promise<{ request: UnsignedRequest; signer: Signer | null }> {
  const request: UnsignedRequest = {
    url: `${url}${path}`,
    method: body === undefined ? 'GET' : 'POST',
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  };
  if (region === null) return { request, signer: null };
  // Loaded here, so that no local call waits for it.
  const { findCredentials, NoCredentials, signRequest } = await import('./request-signer.ts');
  let credentials: AccessKey;
  try {
    credentials = await findCredentials(region);
  } catch (error) {
    if (!(error instanceof NoCredentials)) throw error;
    throw new Error(noCredentialsText(`calls of ${url}`, error.cause), { cause: error.cause });
  }
  const signed = await signRequest(request, credentials, region, new Date());
  return {
    request: { ...request, ...signed },
    signer: { accessKeyId: credentials.accessKeyId, region },
  };
}

async function answerTo(
  { url, method, headers, body }: UnsignedRequest,
  place: QueryPlace,
  timeoutMs: number,
): Promise<{ response: Response; text: string }> {
  const isHere = isLoopback(new URL(place.url)) && place.region === null;
  let response: Response;
  try {
    response = isHere
      ? await fetchDirect(url, { method, headers, body })
      : await fetch(url, {
          method,
          headers,
          body,
          // A signature is for one place only.
          redirect: place.region === null ? 'follow' : 'manual',
          signal: AbortSignal.timeout(timeoutMs),
        });
  } catch (cause) {
    throw new Error(isTimeout(cause) ? slowText(place.url, timeoutMs) : nobodyText(place, isHere), {
      cause,
    });
  }
  try {
    return { response, text: await response.text() };
  } catch (cause) {
    const slow = isTimeout(cause) ? slowText(place.url, timeoutMs) : null;
    throw new Error(slow ?? `${place.url} went away while it answered: try again`, { cause });
  }
}

function parsedAnswer(text: string, url: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const shown = text.slice(0, SHOWN);
    throw new Error(`what answers at ${url} is no query API of Tidemark: ${shown}`, { cause });
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}

function slowText(url: string, timeoutMs: number): string {
  return `no answer from ${url} within ${timeoutMs / 1000} s: try again; a checkpoint or redrive may go on there, which 'npx tidemark status' and 'npx tidemark quarantine' show`;
}

function nobodyText({ url }: QueryPlace, isHere: boolean): string {
  const here = `start it with 'npx tidemark dev', or name another place with --query-url`;
  const there = 'look at the URL, an output of its stack, and at the network of this machine';
  return `nothing answers at ${url}: ${isHere ? here : there}`;
}

/** A signature is for one place, so who is sent elsewhere is told of it. */
function redirectText({ status, headers }: Response, url: string): string | null {
  const location = headers.get('location');
  if (status < 300 || status > 399 || location === null) return null;
  return `${url} answered ${status} and leads to ${location}: a signed call does not follow; name that place if you trust it`;
}

/** What AWS itself answered; null if the API did. */
function refusedText(
  { status, headers }: Response,
  body: string,
  url: string,
  isAdmin: boolean,
  signer: Signer | null,
): string | null {
  const problem = problemOf(body);
  if (problem !== null && (problem.detail ?? problem.title) !== undefined) return null;
  const errorType = headers.get('x-amzn-errortype') ?? '';
  const dateMs = Date.parse(headers.get('date') ?? '');
  const answeredMs = Number.isNaN(dateMs) ? null : dateMs;
  const call = { url, isAdmin, signer, nowMs: Date.now() };
  return refusalText({ status, errorType, body, answeredMs }, call);
}

function messageOf(status: number, text: string): string {
  const problem = problemOf(text);
  if (problem === null) return `the query API answered ${status}: ${text.slice(0, SHOWN)}`;
  const lines = [problem.detail ?? problem.title ?? `the query API answered ${status}`];
  if (problem.path !== undefined) lines.push(`  at       ${problem.path}`);
  if (problem.expected !== undefined) lines.push(`  expected ${asText(problem.expected)}`);
  if (problem.found !== undefined) lines.push(`  found    ${asText(problem.found)}`);
  return lines.join('\n');
}

const SHOWN = 200;

function problemOf(text: string): Problem | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return parsed !== null && typeof parsed === 'object' ? parsed : null;
  } catch {
    return null;
  }
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
