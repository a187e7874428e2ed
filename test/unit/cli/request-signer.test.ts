import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signRequest, type UnsignedRequest } from '../../../cli/request-signer.ts';
import { signatureOf } from './sigv4.ts';

const AT = new Date('2026-03-01T12:00:00.000Z');
const HOST = 'abc123.lambda-url.eu-west-1.on.aws';
const KEY = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};

const get = (path: string): UnsignedRequest => ({
  url: `https://${HOST}${path}`,
  method: 'GET',
  headers: {},
  body: null,
});

describe('a signed request', () => {
  it('has the signature that the published algorithm gives, worked out by hand', async () => {
    const { url, headers } = await signRequest(get('/v1/status'), KEY, 'eu-west-1', AT);

    const hash = (text: string) => createHash('sha256').update(text).digest('hex');
    const canonical = [
      ...['GET', '/v1/status', '', `host:${HOST}`, `x-amz-content-sha256:${hash('')}`],
      ...['x-amz-date:20260301T120000Z', '', 'host;x-amz-content-sha256;x-amz-date', hash('')],
    ].join('\n');
    const scope = '20260301/eu-west-1/lambda/aws4_request';
    const text = ['AWS4-HMAC-SHA256', '20260301T120000Z', scope, hash(canonical)].join('\n');
    let key: string | Buffer = `AWS4${KEY.secretAccessKey}`;
    for (const part of [...scope.split('/'), text]) {
      key = createHmac('sha256', key).update(part).digest();
    }
    expect(url).toBe(`https://${HOST}/v1/status`);
    expect(headers['authorization']).toBe(
      `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/${scope}, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=${(key as Buffer).toString('hex')}`,
    );
  });

  it.each([
    ['/v1/views/a?key.origin=New+York&key.to=a%20b', 'key.origin=New%20York&key.to=a%20b'],
    ['/v1/views/a?key.shop=1%2B1&key.a=%26%3D%25', 'key.shop=1%2B1&key.a=%26%3D%25'],
    ["/v1/views/a?key.a=it's (*!~) -._", 'key.a=it%27s%20%28%2A%21~%29%20-._'],
    ['/v1/views/a?key.stadt=Zürich&prefix=💧', 'key.stadt=Z%C3%BCrich&prefix=%F0%9F%92%A7'],
    ['/v1/views/a?after=s-1:7&after=s-0:9&limit=1', 'after=s-1%3A7&after=s-0%3A9&limit=1'],
    ['/v1/views/a?prefix=', 'prefix='],
  ])('of %s sends its query as it was signed', async (path, query) => {
    const { url, headers } = await signRequest(get(path), KEY, 'eu-west-1', AT);

    expect(url).toBe(`https://${HOST}/v1/views/a?${query}`);
    expect(headers['authorization']).toContain(
      `Signature=${signatureOf({ method: 'GET', url, headers, body: '' }, KEY.secretAccessKey)}`,
    );
  });

  it('has its body in the signature', async () => {
    const of = async (body: string) => {
      const request: UnsignedRequest = {
        url: `https://${HOST}/v1/quarantine/redrive`,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      };
      const { url, headers } = await signRequest(request, KEY, 'eu-west-1', AT);
      const signature = signatureOf({ method: 'POST', url, headers, body }, KEY.secretAccessKey);
      expect(headers['authorization']).toContain('SignedHeaders=content-type;host;');
      expect(headers['authorization']).toContain(`Signature=${signature}`);
      return signature;
    };

    expect(await of('{"reason":"not-json"}')).not.toBe(await of('{"reason":"späte"}'));
  });

  it('carries the token of a role, signed', async () => {
    const credentials = { ...KEY, sessionToken: 'token==' };
    const { url, headers } = await signRequest(get('/v1/views'), credentials, 'eu-west-1', AT);

    expect(headers['x-amz-security-token']).toBe('token==');
    expect(headers['authorization']).toContain('x-amz-security-token');
    expect(headers['authorization']).toContain(
      `Signature=${signatureOf({ method: 'GET', url, headers, body: '' }, KEY.secretAccessKey)}`,
    );
  });

  it('doubles the encoding of its path, as all services but S3 have it', async () => {
    const { url, headers } = await signRequest(get('/v1/views/a%20b'), KEY, 'eu-west-1', AT);

    expect(url).toBe(`https://${HOST}/v1/views/a%20b`);
    expect(headers['authorization']).toContain(
      `Signature=${signatureOf({ method: 'GET', url, headers, body: '' }, KEY.secretAccessKey)}`,
    );
  });
});
