import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { TransientFault } from '../../../../core/faults.ts';
import type { PortLimits } from '../../../../runtime/http/port-limits.ts';
import { PortServer } from '../../../../runtime/http/port-server.ts';
import {
  json,
  type PortRequest,
  type Refusal,
  type Route,
} from '../../../../runtime/http/route.ts';

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

interface Answer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: string;
}

const echo: Route = {
  method: 'POST',
  path: '/v1/echo/{name}',
  handle: ({ params, query, body }) =>
    json({
      name: params['name'],
      q: query.get('q'),
      length: body.length,
      text: `${body}`.slice(0, 9),
    }),
};
const health: Route = { method: 'GET', path: '/healthz', handle: () => json({ ok: true }) };

async function listen(
  routes: readonly Route[],
  limits: Partial<PortLimits> = {},
  onError: (error: unknown) => void = (error) => {
    throw error;
  },
) {
  const server = await PortServer.listen({ port: 0, routes, limits, onError });
  onTestFinished(() => server.close());
  return server;
}

function request1(port: number, sent: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request(
      {
        host: '127.0.0.1',
        port,
        method: sent.method ?? 'GET',
        path: sent.path ?? '/',
        headers: sent.headers ?? {},
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode as number,
            headers: response.headers,
            body: `${Buffer.concat(chunks)}`,
          }),
        );
      },
    );
    request.on('error', reject);
    request.end(sent.body);
  });
}

async function request2(port: number, sent: Sent): Promise<Answer> {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  try {
    return await requestOn(session, sent);
  } finally {
    session.close();
  }
}

function requestOn(session: http2.ClientHttp2Session, sent: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    session.on('error', reject);
    const stream = session.request({
      ':method': sent.method ?? 'GET',
      ':path': sent.path ?? '/',
      ...sent.headers,
    });
    const chunks: Buffer[] = [];
    let headers: http2.IncomingHttpHeaders = {};
    stream.on('response', (received) => {
      headers = received;
    });
    stream.on('data', (chunk) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('end', () =>
      resolve({ status: Number(headers[':status']), headers, body: `${Buffer.concat(chunks)}` }),
    );
    stream.end(sent.body);
  });
}

const PROTOCOLS = [
  ['HTTP/1.1', request1],
  ['HTTP/2', request2],
] as const;

describe.each(PROTOCOLS)('one port over %s', (protocol, request) => {
  it('serves a route with its parameters, query and body', async () => {
    const { port } = await listen([echo, health]);
    const answer = await request(port, {
      method: 'POST',
      path: '/v1/echo/a%20b?q=x%26y',
      headers: { 'content-type': 'application/json' },
      body: '{"a":1}',
    });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toEqual({ name: 'a b', q: 'x&y', length: 7, text: '{"a":1}' });
    expect(answer.headers['content-type']).toBe('application/json');
  });

  it('sends no CORS headers, and nothing that may be cached or guessed at', async () => {
    const { port } = await listen([health]);
    const { headers } = await request(port, { path: '/healthz' });
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('takes a body of many packets whole', async () => {
    const large: Route = { ...echo, bodyBytesMax: 20_000_000 };
    const { port } = await listen([large]);
    const body = Buffer.alloc(5_000_000, 'abcdefghi');
    const headers = { 'content-type': 'application/json' };
    const answer = await request(port, { method: 'POST', path: '/v1/echo/x', headers, body });
    expect(JSON.parse(answer.body)).toMatchObject({ length: 5_000_000, text: 'abcdefghi' });
  });

  it('answers HEAD without a body, unknown paths with 404 and other methods with 405', async () => {
    const { port } = await listen([health]);
    const head = await request(port, { method: 'HEAD', path: '/healthz' });
    expect([head.status, head.body]).toEqual([200, '']);
    const missing = await request(port, { path: '/nothing' });
    expect(missing.status).toBe(404);
    expect(missing.headers['content-type']).toBe('application/problem+json');
    expect(JSON.parse(missing.body)).toMatchObject({ code: 'no-such-path', status: 404 });
    const preflight = await request(port, { method: 'OPTIONS', path: '/healthz' });
    expect(preflight.status).toBe(405);
    expect(preflight.headers['allow']).toBe('GET, HEAD');
  });

  it('refuses foreign hosts, origins and sites, and lets its own page in', async () => {
    const { port } = await listen([health]);
    const host = protocol === 'HTTP/2' ? ':authority' : 'host';
    const statusFor = async (headers: Record<string, string>) =>
      (await request(port, { path: '/healthz', headers })).status;
    expect(await statusFor({ [host]: `evil.example.com:${port}` })).toBe(403);
    expect(await statusFor({ origin: 'https://evil.example.com' })).toBe(403);
    expect(await statusFor({ 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await statusFor({ [host]: `localhost:${port}` })).toBe(200);
    expect(await statusFor({ origin: `http://127.0.0.1:${port}` })).toBe(200);
  });

  it('refuses a body that is too large, having read past it, and one of a foreign page', async () => {
    const handle = vi.fn(echo.handle);
    const { port } = await listen([{ ...echo, handle, bodyBytesMax: 1_000 }]);
    const sent = { method: 'POST', path: '/v1/echo/x', body: Buffer.alloc(3_000_000) };
    const headers = { 'content-type': 'application/json' };
    const tooLarge = await request(port, { ...sent, headers });
    expect(tooLarge.status).toBe(413);
    expect(JSON.parse(tooLarge.body)).toMatchObject({ code: 'body-too-large' });
    const foreign = { ...headers, origin: 'https://evil.example.com' };
    expect((await request(port, { ...sent, headers: foreign })).status).toBe(403);
    expect(handle).not.toHaveBeenCalled();
  });

  it('gives up on a body that does not come', async () => {
    const { port } = await listen([echo], { bodyTimeoutMs: 50 });
    const headers = { 'content-type': 'application/json' };
    const path = '/v1/echo/x';
    const answer = await new Promise<number>((resolve, reject) => {
      if (protocol === 'HTTP/2') {
        const session = http2.connect(`http://127.0.0.1:${port}`);
        onTestFinished(() => session.destroy());
        const stream = session.request({ ':method': 'POST', ':path': path, ...headers });
        stream.on('response', (received) => resolve(Number(received[':status'])));
        stream.on('error', reject);
        stream.write('{');
      } else {
        const slow = http.request({ port, host: '127.0.0.1', method: 'POST', path, headers });
        slow.on('response', (response) => resolve(response.statusCode as number));
        slow.on('error', reject);
        slow.write('{');
      }
    });
    expect(answer).toBe(408);
  });

  it('answers a fault that may pass with 503, any other error with 500 and tells of it', async () => {
    const errors: unknown[] = [];
    const failing = (error: unknown): Route => ({
      method: 'GET',
      path: error instanceof TransientFault ? '/transient' : '/bug',
      handle: () => {
        throw error;
      },
    });
    const bug = new Error('a bug');
    const routes = [failing(new TransientFault('the disk is full')), failing(bug)];
    const { port } = await listen(routes, {}, (error) => errors.push(error));
    const transient = await request(port, { path: '/transient' });
    expect(transient.status).toBe(503);
    expect(JSON.parse(transient.body)).toMatchObject({ detail: 'the disk is full' });
    expect((await request(port, { path: '/bug' })).status).toBe(500);
    expect(errors).toEqual([bug]);
  });

  it('lets a route word refusals and failures itself', async () => {
    const refuse = vi.fn((refusal: { status: number; code: string }) =>
      json(refusal.code, refusal.status),
    );
    const { port } = await listen([{ ...health, refuse }]);
    const headers = { origin: 'https://evil.example.com' };
    const answer = await request(port, { path: '/healthz', headers });
    expect([answer.status, answer.body]).toEqual([403, '"origin-not-allowed"']);
  });

  it('finishes a running request when it closes, and takes no new ones', async () => {
    let finish: () => void = () => {};
    let started: () => void = () => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const slow: Route = {
      method: 'GET',
      path: '/slow',
      handle: async () => {
        started();
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return json('done');
      },
    };
    const server = await listen([slow]);
    const { port } = server;
    const answer = request(port, { path: '/slow' });
    await running;
    const closed = server.close();
    await expect(request(port, { path: '/slow' })).rejects.toThrow();
    finish();
    expect((await answer).body).toBe('"done"');
    await closed;
  });

  it('tells a waiting route that its client has gone, or that the server closes', async () => {
    const signals: AbortSignal[] = [];
    const waiting: Route = {
      method: 'GET',
      path: '/wait',
      handle: async ({ signal }: PortRequest) => {
        signals.push(signal);
        if (!signal.aborted) await once(signal, 'abort');
        return json('ended');
      },
    };
    const server = await listen([waiting]);
    const answer = request(server.port, { path: '/wait' });
    await vi.waitFor(() => expect(signals).toHaveLength(1));

    const gone = http2.connect(server.url);
    gone.on('error', () => {});
    gone.request({ ':path': '/wait' }).on('error', () => {});
    await vi.waitFor(() => expect(signals).toHaveLength(2));
    gone.destroy();
    await vi.waitFor(() => expect(signals[1]?.aborted).toBe(true));
    expect(signals[0]?.aborted).toBe(false);

    const closed = server.close();
    expect((await answer).body).toBe('"ended"');
    await closed;
  });
});

describe.each(PROTOCOLS)('answers over %s that clients do not read', (protocol, request) => {
  const body = Buffer.alloc(16 * 1024 * 1024, 'x');
  const headers = { 'content-type': 'text/plain' };
  const large: Route = {
    method: 'GET',
    path: '/large',
    handle: () => ({ status: 200, headers, body }),
  };
  const changed: Route = {
    method: 'POST',
    path: '/changed',
    handle: () => ({ status: 200, headers, body: body.subarray(0, 100_000), tellsEffect: true }),
  };

  /** Asks for `/large` and reads nothing; resolves when the answer has begun. */
  async function askOnly(port: number): Promise<{ destroy(): void }> {
    if (protocol === 'HTTP/2') {
      const session = http2.connect(`http://127.0.0.1:${port}`);
      session.on('error', () => {});
      onTestFinished(() => session.destroy());
      const stream = session.request({ ':path': '/large' });
      stream.on('error', () => {});
      await once(stream, 'response');
      return session;
    }
    const asked = http.get({ port, host: '127.0.0.1', path: '/large', agent: false });
    onTestFinished(() => void asked.destroy());
    asked.on('error', () => {});
    const [response] = (await once(asked, 'response')) as [http.IncomingMessage];
    response.on('error', () => {});
    return asked;
  }

  it('are bounded together: large ones are refused for a while, and no request hangs', async () => {
    const refuse = vi.fn(({ detail }: Refusal) => json(detail, 503));
    const worded: Route = { ...large, path: '/worded', refuse };
    const { port } = await listen([large, worded, changed, health], {
      answersBytesMax: 20_000_000,
    });
    const first = await askOnly(port);
    const second = await askOnly(port);

    const refused = await request(port, { path: '/large' });
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('1');
    expect(JSON.parse(refused.body)).toMatchObject({ code: 'try-again' });
    const inOwnWords = await request(port, { path: '/worded' });
    expect(inOwnWords).toMatchObject({ status: 503, body: expect.stringContaining('more than') });
    expect(inOwnWords.headers['retry-after']).toBe('1');
    expect((await request(port, { path: '/healthz' })).status).toBe(200);
    expect((await request(port, { path: '/large', method: 'HEAD' })).status).toBe(503);
    const effect = await request(port, { path: '/changed', method: 'POST' });
    expect([effect.status, effect.body.length]).toEqual([200, 100_000]);

    first.destroy();
    await vi.waitFor(async () => {
      const { status, body: read } = await request(port, { path: '/large' });
      expect([status, read.length]).toEqual([200, body.length]);
    });
    second.destroy();
  });

  it('are no others: what was read leaves room, and so does what nothing was sent of', async () => {
    const { port } = await listen([large, health], { answersBytesMax: 1 });
    for (let count = 0; count < 3; count++) {
      await vi.waitFor(async () => {
        expect((await request(port, { path: '/large' })).status).toBe(200);
      });
      await vi.waitFor(async () => {
        expect((await request(port, { path: '/large', method: 'HEAD' })).status).toBe(200);
      });
    }
  });

  it('nor those of clients that went before there was one', async () => {
    const steps: string[] = [];
    const slow: Route = {
      ...large,
      path: '/slow',
      handle: async (asked) => {
        steps.push('asked');
        await once(asked.signal, 'abort');
        steps.push('answered');
        return large.handle(asked);
      },
    };
    const { port } = await listen([slow, large], { answersBytesMax: 1 });
    const session = http2.connect(`http://127.0.0.1:${port}`);
    session.on('error', () => {});
    const gone =
      protocol === 'HTTP/2'
        ? session.request({ ':path': '/slow' })
        : http.get({ port, host: '127.0.0.1', path: '/slow', agent: false });
    gone.on('error', () => {});
    await vi.waitFor(() => expect(steps).toEqual(['asked']));
    gone.destroy();
    session.destroy();
    await vi.waitFor(() => expect(steps).toEqual(['asked', 'answered']));
    await new Promise((resolve) => setImmediate(resolve));

    expect((await request(port, { path: '/large' })).status).toBe(200);
  });
});

describe('one port', () => {
  it('serves many requests of one HTTP/2 session at once', async () => {
    const { url } = await listen([echo]);
    const session = http2.connect(url);
    session.setMaxListeners(50);
    onTestFinished(() => session.close());
    const headers = { 'content-type': 'application/json' };
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        requestOn(session, {
          method: 'POST',
          path: `/v1/echo/${index}`,
          headers,
          body: 'x'.repeat(index),
        }),
      ),
    );
    const names = answers.map(({ body }) => JSON.parse(body));
    expect(names.map(({ name }) => name)).toEqual(names.map((_, index) => String(index)));
    expect(names.map(({ length }) => length)).toEqual(names.map((_, index) => index));
  });

  it('keeps an HTTP/1.1 connection for the next request', async () => {
    const { port } = await listen([health]);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const sockets = new Set<net.Socket>();
    for (let count = 0; count < 3; count++) {
      await new Promise<void>((resolve, reject) => {
        const request = http.get(
          { port, host: '127.0.0.1', path: '/healthz', agent },
          (response) => {
            sockets.add(response.socket);
            response.resume().on('end', () => resolve());
          },
        );
        request.on('error', reject);
      });
    }
    expect(sockets.size).toBe(1);
  });

  it('understands a preface, and a request line, that come byte by byte', async () => {
    const { port } = await listen([health]);
    const drip = async (text: string) => {
      const socket = net.connect(port, '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      socket.setNoDelay(true);
      await once(socket, 'connect');
      for (const character of text) {
        socket.write(character, 'latin1');
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      const [data] = (await once(socket, 'data')) as [Buffer];
      return data;
    };
    const first = await drip('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    expect(`${first}`).toContain('HTTP/1.1 200 OK');
    // The preface and an empty SETTINGS frame; the answer begins with the server's SETTINGS (type 4).
    const second = await drip('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0');
    expect(second[3]).toBe(4);
  });

  it('survives rubbish and cut connections', async () => {
    const { port } = await listen([echo, health]);
    const send = async (bytes: string) => {
      const socket = net.connect(port, '127.0.0.1');
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write(bytes, 'latin1');
      await new Promise((resolve) => setTimeout(resolve, 20));
      socket.destroy();
    };
    await send('\u0016\u0003\u0001 not http');
    await send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nrubbish that is no frame');
    await send('PRI nonsense');
    await send('POST /v1/echo/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{');
    await send('P');
    await send('');
    expect((await request1(port, { path: '/healthz' })).status).toBe(200);
  });

  it('cuts off connections that send no request', async () => {
    const { port } = await listen([health], { headTimeoutMs: 60 });
    const cutOff = async (bytes: string) => {
      const socket = net.connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.resume();
      socket.write(bytes);
      await once(socket, 'close');
    };
    await Promise.all([cutOff(''), cutOff('PR'), cutOff('GET / HTTP/1.1\r\nhost: loc')]);
  });

  it('refuses a request without a Host header', async () => {
    const { port } = await listen([health]);
    const socket = net.connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.write('GET /healthz HTTP/1.0\r\n\r\n');
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(`${data}`).toContain('403 Forbidden');
  });

  it.each([
    ['two hosts', ['host: localhost', 'host: evil.example']],
    ['two hosts, the foreign one first', ['host: evil.example', 'Host: localhost']],
    ['the same host twice', ['host: localhost', 'HOST: localhost']],
    ['two origins', ['host: localhost', 'origin: http://localhost', 'origin: http://evil.example']],
    ['two sites', ['host: localhost', 'sec-fetch-site: same-origin', 'sec-fetch-site: none']],
    ['two types', ['host: localhost', 'content-type: application/json', 'content-type: text/a']],
    // These two the parser of Node refuses itself.
    ['two lengths', ['host: localhost', 'content-length: 2', 'content-length: 2']],
    ['a length and chunks', ['host: localhost', 'content-length: 2', 'transfer-encoding: chunked']],
  ])('refuses %s with 400, and serves nothing', async (_, headers) => {
    const served = vi.fn(health.handle);
    const { port } = await listen([
      { ...health, handle: served },
      { ...echo, path: '/healthz', handle: served },
    ]);
    for (const method of ['GET', 'POST']) {
      const socket = net.connect(port, '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      socket.write(`${method} /healthz HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n{}`);
      const [data] = (await once(socket, 'data')) as [Buffer];
      expect(`${data}`).toMatch(/^HTTP\/1\.1 400 /);
    }
    expect(served).not.toHaveBeenCalled();
  });

  it('refuses a target that is no path, and two hosts of HTTP/2', async () => {
    const { port } = await listen([health]);
    const absolute = await request1(port, { path: `http://localhost:${port}/healthz` });
    expect(absolute).toMatchObject({ status: 400, body: expect.stringContaining('is no path') });
    const own = `127.0.0.1:${port}`;
    const differing = await request2(port, {
      path: '/healthz',
      headers: { ':authority': own, host: 'localhost' },
    });
    expect(differing).toMatchObject({ status: 400, body: expect.stringContaining('two hosts') });
    const same = { ':authority': own, host: own };
    expect((await request2(port, { path: '/healthz', headers: same })).status).toBe(200);
  });

  it('asks clients to come again when bodies take too much memory together', async () => {
    const { port } = await listen([{ ...echo, bodyBytesMax: 10_000 }], { bodiesBytesMax: 5_000 });
    const headers = { 'content-type': 'application/json' };
    const sent = { method: 'POST', path: '/v1/echo/x', headers };
    const refused = await request1(port, { ...sent, body: 'x'.repeat(6_000) });
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('1');
    for (let count = 0; count < 3; count++) {
      expect((await request1(port, { ...sent, body: 'x'.repeat(4_000) })).status).toBe(200);
    }
  });

  it('lets in the hosts that it is told to, and only on loopback addresses', async () => {
    const server = await PortServer.listen({
      port: 0,
      allowHosts: ['Build.Example.com'],
      routes: [health],
      onError: () => {},
    });
    onTestFinished(() => server.close());
    const headers = { host: 'build.example.com' };
    expect((await request1(server.port, { path: '/healthz', headers })).status).toBe(200);
  });

  it.skipIf(!hasIpv6)('serves ::1 too, in both protocols, and closes there too', async () => {
    const server = await listen([health]);
    const { port } = server;
    const agent = new http.Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const asked = http.get({ port, host: '::1', path: '/healthz', agent });
    const [response] = (await once(asked, 'response')) as [http.IncomingMessage];
    await once(response.resume(), 'end');
    expect(response.statusCode).toBe(200);
    const session = http2.connect(`http://[::1]:${port}`);
    onTestFinished(() => session.destroy());
    expect((await requestOn(session, { path: '/healthz' })).status).toBe(200);
    await server.close();
    const late = net.connect(port, '::1');
    expect(((await once(late, 'error')) as [NodeJS.ErrnoException])[0].code).toBe('ECONNREFUSED');
  });

  it.skipIf(!hasIpv6)('is not opened beside a program that clients would take for it', async () => {
    const other = net.createServer().listen(0, '::1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as net.AddressInfo;
    await expect(PortServer.listen({ port, routes: [], onError: () => {} })).rejects.toThrow(
      `port ${port} on ::1 is in use`,
    );
  });

  it('says which port is in use and what to do', async () => {
    const { port } = await listen([health]);
    const second = PortServer.listen({ port, routes: [], onError: () => {} });
    await expect(second).rejects.toThrow(`port ${port} on 127.0.0.1 is in use`);
    await expect(PortServer.listen({ port, routes: [], onError: () => {} })).rejects.toThrow(
      '--port',
    );
  });

  it('closes at once when clients only keep their connections for later', async () => {
    const server = await listen([health], { closeTimeoutMs: 3_600_000 });
    const session = http2.connect(server.url);
    await requestOn(session, { path: '/healthz' });
    const agent = new http.Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const kept = http.get({ port: server.port, host: '127.0.0.1', path: '/healthz', agent });
    const [response] = (await once(kept, 'response')) as [http.IncomingMessage];
    await once(response.resume(), 'end');
    await server.close();
  });

  it('closes although clients hang on to it, and cuts off what does not end', async () => {
    const never: Route = { method: 'GET', path: '/never', handle: () => new Promise(() => {}) };
    const server = await listen([health, never], { closeTimeoutMs: 100 });
    const session = http2.connect(server.url);
    session.on('error', () => {});
    await requestOn(session, { path: '/healthz' });
    session.request({ ':path': '/never' }).on('error', () => {});
    const idle = net.connect(server.port, '127.0.0.1');
    await once(idle, 'connect');
    const stuck = http.get({ port: server.port, host: '127.0.0.1', path: '/never' });
    const cut = once(stuck, 'error');
    await new Promise((resolve) => setTimeout(resolve, 30));
    await server.close();
    await cut;
    await vi.waitFor(() => expect(session.destroyed).toBe(true));
    idle.destroy();
  });
});
