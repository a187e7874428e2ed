import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { callQueryApi } from '../../../cli/query-client.ts';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(answer: (response: ServerResponse) => void): Promise<string> {
  const created = createServer((_, response) => answer(response));
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
      `nothing answers at ${url}: start it with 'tidemark dev'`,
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
