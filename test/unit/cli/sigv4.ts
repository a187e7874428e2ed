/**
 * Signature Version 4 of a request as it arrived, from AWS's description of it alone: what a server would compute. Takes
 * query and headers as they are, so that a signature over anything else differs.
 */
import { createHash, createHmac } from 'node:crypto';

export interface ArrivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export function signatureOf(request: ArrivedRequest, secret: string): string {
  const { headers } = request;
  const { pathname, search, host } = new URL(request.url);
  const authorization = headers['authorization'] ?? '';
  const signedHeaders = /SignedHeaders=([^,]*)/.exec(authorization)?.[1] ?? '';
  const scope = /Credential=[^/]*\/([^,]*)/.exec(authorization)?.[1] ?? '';
  const canonicalHeaders = signedHeaders
    .split(';')
    .map((name) => `${name}:${name === 'host' ? host : (headers[name] ?? '').trim()}\n`);
  const canonical = [
    request.method,
    // Each segment is encoded once more than it is sent.
    pathname.split('/').map(encodeURIComponent).join('/'),
    search.slice(1).split('&').sort().join('&'),
    canonicalHeaders.join(''),
    signedHeaders,
    sha256(request.body),
  ].join('\n');
  const time = headers['x-amz-date'] ?? '';
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = scope
    .split('/')
    .reduce<string | Buffer>((before, part) => hmac(before, part), `AWS4${secret}`);
  return hmac(key, text).toString('hex');
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest();
}
