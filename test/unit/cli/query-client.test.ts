import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { callQueryApi } from '../../../cli/query-client.ts';
import { withoutCredentials } from './no-credentials.ts';
import { type ArrivedRequest, signatureOf } from './sigv4.ts';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(
  answer: (response: ServerResponse, request: IncomingMessage) => void,
): Promise<string> {
  const created = createServer((request, response) => answer(response, request));
  server = created;
  await new Promise<void>((resolve) => created.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(created.address() as AddressInfo).port}`;
}

describe('a call of the query API', () => {
  it('gives the JSON of an answer', async () => {
    const url = await serve((response) => response.end('{"rows":[]}'));

    expect(await callQueryApi(url, '/v1/views/a')).toEqual({ rows: [] });
  });

  it('turns a problem into a message with where, what was expected and what was found', async () => {
    const problem = {
      detail: 'start is no time.',
      path: 'start',
      expected: 'ISO 8601',
      found: ['noon'],
    };
    const url = await serve((response) => {
      response.writeHead(400).end(JSON.stringify(problem));
    });

    await expect(callQueryApi(url, '/')).rejects.toThrow(
      'start is no time.\n  at       start\n  expected ISO 8601\n  found    ["noon"]',
    );
  });

  it('says what another server answered', async () => {
    const url = await serve((response) => {
      response.writeHead(502).end('<html>bad gateway');
    });

    await expect(callQueryApi(url, '/')).rejects.toThrow(
      'the query API answered 502: <html>bad gateway',
    );
  });

  it('says who should be there when nobody answers', async () => {
    const url = await serve(() => {});
    await new Promise((resolve) => server?.close(resolve));

    await expect(callQueryApi(url, '/')).rejects.toThrow(
      `nothing answers at ${url}: start it with 'npx tidemark dev'`,
    );
  });

  it('says so when the other side goes away in the middle of an answer', async () => {
    const url = await serve((response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"rows":[');
      setTimeout(() => response.destroy(), 20);
    });

    await expect(callQueryApi(url, '/')).rejects.toThrow(`${url} went away while it answered`);
  });
});

describe('a call of another program', () => {
  it('says that it is none of ours', async () => {
    const url = await serve((response) => response.end('<html>hello'));

    await expect(callQueryApi(url, '/')).rejects.toThrow(
      `what answers at ${url} is no query API of Tidemark: <html>hello`,
    );
  });
});

// A server on this machine stands for the function URL; the place says that calls to it are signed.
describe('a signed call', () => {
  const region = 'eu-west-1';
  let home = '';

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'tidemark-home-'));
    withoutCredentials(home);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKID');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  });

  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(home, { recursive: true });
  });

  it.each([
    ['/v1/views/by_shop?key.shop=a+b&key.city=Z%C3%BCrich&after=s-1%3A7&after=s-0%3A9', undefined],
    ['/v1/quarantine/redrive', { reason: 'späte' }],
    ['/v1/checkpoint', {}],
  ])('of %s arrives as it was signed', async (path, body) => {
    let arrived: ArrivedRequest | undefined;
    const url = await serve((response, request) => {
      const { method = '', url: at = '', headers } = request;
      let sent = '';
      request.on('data', (chunk) => {
        sent += chunk;
      });
      request.on('end', () => {
        const named = headers as Record<string, string>;
        arrived = { method, url: `${url}${at}`, headers: named, body: sent };
        response.end('{}');
      });
    });

    await callQueryApi({ url, region }, path, body);
    if (arrived === undefined) throw new Error('nothing arrived');
    const authorization = arrived.headers['authorization'];
    expect(arrived.body).toBe(body === undefined ? '' : JSON.stringify(body));
    expect(authorization).toContain('Credential=AKID/');
    expect(authorization).toContain('/eu-west-1/lambda/aws4_request');
    expect(authorization).toContain(`Signature=${signatureOf(arrived, 'secret')}`);
  });

  it('is not signed where its place does not ask for it', async () => {
    const arrived: (string | undefined)[] = [];
    const url = await serve((response, { headers }) => {
      arrived.push(headers.authorization);
      response.end('{}');
    });

    await callQueryApi({ url, region: null }, '/v1/status');
    expect(arrived).toEqual([undefined]);
  });

  it('that is refused says who signed, and which grant is missing', async () => {
    const url = await serve((response) => {
      response.writeHead(403, { 'x-amzn-errortype': 'AccessDeniedException' });
      response.end('{"Message":"Forbidden"}');
    });

    await expect(callQueryApi({ url, region }, '/v1/status')).rejects.toThrow(
      /403 AccessDeniedException: Forbidden\n {2}the call was signed by access key AKID in eu-west-1.*grantRead/,
    );
    await expect(
      callQueryApi({ url, region, isAdmin: true }, '/v1/checkpoint', {}),
    ).rejects.toThrow('grantAdmin');
  });

  it('leaves a problem of the API as it is', async () => {
    const url = await serve((response) => {
      response.writeHead(404).end('{"detail":"There is no view a."}');
    });

    await expect(callQueryApi({ url, region }, '/v1/views/a')).rejects.toThrow(
      /^There is no view a\.$/,
    );
  });

  it('is sent nowhere without credentials', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined);
    let count = 0;
    const url = await serve((response) => {
      count++;
      response.end('{}');
    });

    await expect(callQueryApi({ url, region }, '/v1/status')).rejects.toThrow(
      `no AWS credentials were found, and calls of ${url} must be signed: set AWS_PROFILE`,
    );
    expect(count).toBe(0);
  });

  it('does not follow to another place', async () => {
    let count = 0;
    const url = await serve((response) => {
      count++;
      response.writeHead(302, { location: '/elsewhere' }).end();
    });

    await expect(callQueryApi({ url, region }, '/v1/status')).rejects.toThrow('answered 302');
    expect(count).toBe(1);
  });

  it('ends in bounded time, before an answer and within one', async () => {
    const silent = await serve(() => {});
    const slow = callQueryApi({ url: silent, region }, '/v1/checkpoint', {}, 200);

    await expect(slow).rejects.toThrow(`no answer from ${silent} within 0.2 s: try again`);
    server?.closeAllConnections();
    const halting = await serve((response) => {
      response.write('{"rows":[');
    });
    await expect(
      callQueryApi({ url: halting, region }, '/v1/status', undefined, 200),
    ).rejects.toThrow(`no answer from ${halting} within 0.2 s`);
  });
});
