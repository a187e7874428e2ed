/**
 * Signs a request for a function URL by AWS's Signature Version 4. What is signed is what is sent: the address that comes
 * back has its query encoded as the signature has it.
 */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { SignatureV4 } from '@smithy/signature-v4';

export interface AccessKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface UnsignedRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface SignedRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The service that a function URL belongs to. */
const SERVICE = 'lambda';

export async function signRequest(
  request: UnsignedRequest,
  credentials: AccessKey,
  region: string,
  at: Date,
): Promise<SignedRequest> {
  const { method, headers, body } = request;
  const url = new URL(request.url);
  const parameters = [...url.searchParams];
  url.search = parameters.map((pair) => pair.map(encoded).join('=')).join('&');
  const signer = new SignatureV4({ service: SERVICE, region, credentials, sha256: Sha256 });
  const signed = await signer.sign(
    {
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: queryOf(parameters),
      headers: { ...headers, host: url.host },
      ...(body === null ? {} : { body }),
    },
    { signingDate: at },
  );
  // The HTTP client sets this one from the address.
  const { host: _, ...sent } = signed.headers;
  return { url: url.href, headers: sent };
}

/** There are none, or they cannot be had now: `cause` says which. */
export class NoCredentials extends Error {}

/** Credentials by AWS's own rules: environment, profile, SSO, process, container, instance. */
export async function findCredentials(region: string): Promise<AccessKey> {
  try {
    return await defaultProvider({ clientConfig: { region } })();
  } catch (cause) {
    throw new NoCredentials('no credentials', { cause });
  }
}

/** Everything but RFC 3986's unreserved characters, a space too: `+` means two things. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function queryOf(parameters: readonly (readonly [string, string])[]): Record<string, string[]> {
  const query: Record<string, string[]> = Object.create(null);
  for (const [name, value] of parameters) {
    const values = query[name] ?? [];
    query[name] = values;
    values.push(value);
  }
  return query;
}

/** SHA-256, and its HMAC where there is a secret, as the signer asks for them. */
class Sha256 {
  readonly #secret: string | ArrayBuffer | ArrayBufferView | undefined;
  #hash: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#secret = secret;
    this.#hash = hashOf(secret);
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    this.#hash = hashOf(this.#secret);
  }
}

function hashOf(secret: string | ArrayBuffer | ArrayBufferView | undefined): Hash | Hmac {
  return secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret));
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data, 'utf8');
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
