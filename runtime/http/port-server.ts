/**
 * One TCP port on the loopback addresses, 127.0.0.1 and ::1, that speaks HTTP/1.1 and cleartext HTTP/2. It guards, bounds and
 * routes requests; what they mean is the routes' matter.
 *
 * Every request gets exactly one answer, also while the server closes; nothing that a client sends ends the process.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { unreachable } from '../../core/assert.ts';
import { AnswerBudget } from './answer-budget.ts';
import { explainListenError, NO_IPV6 } from './listen-error.ts';
import { PORT_LIMITS, type PortLimits } from './port-limits.ts';
import { problem, refusalOfError } from './problem.ts';
import { sniffProtocol } from './protocol-sniffer.ts';
import { bodyRefusal, notAllowed, UNREAD_ANSWERS, worded } from './refusal.ts';
import { BodyBudget, type BodyRead, readBody } from './request-body.ts';
import { refusalOf, repeatedHeaders } from './request-guard.ts';
import type { PortRequest, PortResponse, Route } from './route.ts';
import { type Match, Router } from './router.ts';

const MIB = 1024 * 1024;
const SECOND_MS = 1_000;

export const BODY_BYTES_DEFAULT = 1 * MIB;

/** What a client may send before we read: the largest Kinesis request in one go. */
const HTTP2_WINDOW_BYTES = 16 * MIB;
const HTTP2_SESSION_MEMORY_MIB = 64;
const HTTP2_STREAMS_MAX = 128;
const FREE_PORT_ATTEMPTS_MAX = 8;

export interface PortServerOptions {
  /** 0 takes a free one. */
  readonly port: number;
  /** Names by which clients may call this server, besides those of the loopback address. */
  readonly allowHosts?: readonly string[];
  readonly routes: readonly Route[];
  /** Told of errors that routes throw and that their clients cannot mend. */
  readonly onError: (error: unknown) => void;
  readonly limits?: Partial<PortLimits>;
}

type HttpRequest = IncomingMessage | Http2ServerRequest;
type HttpResponse = ServerResponse | Http2ServerResponse;

/** What a request asks for. */
interface Target {
  readonly method: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly match: Match;
  /** Null if there is none. */
  readonly route: Route | null;
}

export class PortServer {
  readonly #options: PortServerOptions;
  readonly #limits: PortLimits;
  readonly #router: Router;
  readonly #allowHosts: ReadonlySet<string>;
  readonly #bodies: BodyBudget;
  readonly #answers: AnswerBudget;
  readonly #http1: Server;
  readonly #http2: Http2Server;
  /** Takes the connections to ::1; null on a machine without IPv6. */
  #ipv6: TcpServer | null = null;
  readonly #unsniffed = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #running = new Set<AbortController>();
  #closing: Promise<void> | null = null;

  /** Resolves when the port is open. An `Error` says what to do if it cannot be. */
  static async listen(options: PortServerOptions): Promise<PortServer> {
    for (let attempt = 1; ; attempt++) {
      const server = new PortServer(options);
      await server.#listen();
      try {
        await server.#listenOnIpv6();
        return server;
      } catch (error) {
        await server.close();
        // The port that was free on one address was not on the other.
        const isUnlucky = options.port === 0 && attempt < FREE_PORT_ATTEMPTS_MAX;
        if (!isUnlucky)
          throw explainListenError(error as NodeJS.ErrnoException, '::1', options.port);
      }
    }
  }

  private constructor(options: PortServerOptions) {
    this.#options = options;
    this.#limits = { ...PORT_LIMITS, ...options.limits };
    this.#router = new Router(options.routes);
    this.#allowHosts = new Set((options.allowHosts ?? []).map((host) => host.toLowerCase()));
    this.#bodies = new BodyBudget(this.#limits.bodiesBytesMax);
    this.#answers = new AnswerBudget(this.#limits.answersBytesMax);
    this.#http1 = this.#createHttp1();
    this.#http2 = this.#createHttp2();
    this.#sniffConnections();
  }

  get port(): number {
    return (this.#http1.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Takes no new requests, lets running ones finish within `closeTimeoutMs`, then cuts off what is left. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #createHttp1(): Server {
    const server = createServer({
      noDelay: true,
      headersTimeout: this.#limits.headTimeoutMs,
      requestTimeout: this.#limits.headTimeoutMs + this.#limits.bodyTimeoutMs,
      keepAliveTimeout: this.#limits.idleTimeoutMs,
      connectionsCheckingInterval: Math.min(SECOND_MS, this.#limits.headTimeoutMs),
    });
    server.maxConnections = this.#limits.connectionsMax;
    server.setTimeout(this.#limits.idleTimeoutMs);
    server.on('request', (request, response) => void this.#serve(request, response));
    return server;
  }

  #createHttp2(): Http2Server {
    const server = createHttp2Server({
      maxSessionMemory: HTTP2_SESSION_MEMORY_MIB,
      settings: {
        initialWindowSize: HTTP2_WINDOW_BYTES,
        maxConcurrentStreams: HTTP2_STREAMS_MAX,
        enablePush: false,
      },
    });
    server.on('session', (session) => {
      this.#sessions.add(session);
      session.setLocalWindowSize(HTTP2_WINDOW_BYTES);
      session.setTimeout(this.#limits.idleTimeoutMs, () => session.destroy());
      session.on('close', () => this.#sessions.delete(session));
      // A broken connection is its client's matter; 'close' follows.
      session.on('error', () => {});
      if (this.#closing !== null) session.close();
    });
    server.on('sessionError', () => {});
    server.on('request', (request, response) => void this.#serve(request, response));
    return server;
  }

  /**
   * The HTTP/1 server owns the port, because its time-outs work for connections of a listening server only; its own
   * connection listener is called once the first bytes have shown which protocol a connection speaks.
   */
  #sniffConnections(): void {
    const serveHttp1 = this.#http1.listeners('connection') as ((socket: Socket) => void)[];
    this.#http1.removeAllListeners('connection');
    this.#http1.on('connection', (socket: Socket) => {
      this.#unsniffed.add(socket);
      socket.once('close', () => this.#unsniffed.delete(socket));
      sniffProtocol(socket, this.#limits.headTimeoutMs, (protocol) => {
        this.#unsniffed.delete(socket);
        switch (protocol) {
          case 'http1':
            for (const serve of serveHttp1) serve.call(this.#http1, socket);
            socket.resume();
            return;
          case 'http2':
            // As HTTP/1 has it, a client that ends its side may still read. Here it has gone.
            socket.allowHalfOpen = false;
            this.#http2.emit('connection', socket);
            return;
          default:
            unreachable(protocol);
        }
      });
    });
  }

  #listen(): Promise<void> {
    const { port } = this.#options;
    return new Promise((resolve, reject) => {
      const onError = (error: NodeJS.ErrnoException) =>
        reject(explainListenError(error, '127.0.0.1', port));
      this.#http1.once('error', onError);
      this.#http1.listen({ port, host: '127.0.0.1' }, () => {
        this.#http1.off('error', onError);
        this.#http1.on('error', this.#options.onError);
        resolve();
      });
    });
  }

  /** `localhost` is ::1 for many clients. Its connections are the HTTP/1 server's, like all others. */
  #listenOnIpv6(): Promise<void> {
    const server = createTcpServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      this.#http1.emit('connection', socket);
    });
    server.maxConnections = this.#limits.connectionsMax;
    return new Promise((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        if (NO_IPV6.has(error.code ?? '')) resolve();
        else reject(error);
      });
      server.listen({ port: this.port, host: '::1', ipv6Only: true }, () => {
        server.on('error', this.#options.onError);
        this.#ipv6 = server;
        resolve();
      });
    });
  }

  async #serve(request: HttpRequest, response: HttpResponse): Promise<void> {
    const running = new AbortController();
    this.#running.add(running);
    response.on('error', () => {});
    let isClosed = false;
    response.on('close', () => {
      isClosed = true;
      this.#running.delete(running);
      if (!response.writableEnded) running.abort();
    });
    if (this.#closing !== null) running.abort();
    try {
      const target = this.#targetOf(request);
      const answer = await this.#answer(request, target, running.signal);
      if (answer === null || isClosed) return;
      const sent = this.#answers.allows(answer) ? answer : worded(target.route, UNREAD_ANSWERS);
      this.#send(request, response, sent);
    } catch (error) {
      this.#options.onError(error);
      destroy(response);
    }
  }

  /** Null if no client waits for an answer any more. */
  async #answer(
    request: HttpRequest,
    { method, path, query, match, route }: Target,
    signal: AbortSignal,
  ): Promise<PortResponse | null> {
    const guardRefusal = refusalOf(guarded(request, method, path), this.#allowHosts);
    const bytesMax = route?.bodyBytesMax ?? BODY_BYTES_DEFAULT;
    // A body that will not be read is dropped as it comes.
    const read = await this.#readBody(request, guardRefusal === null ? bytesMax : 0);
    if (read.outcome === 'gone') return null;
    if (read.outcome === 'read') {
      try {
        if (guardRefusal !== null) return worded(route, guardRefusal);
        return await this.#dispatch(match, {
          method,
          path,
          params: match.outcome === 'found' ? match.params : {},
          get query() {
            return new URLSearchParams(query);
          },
          headers: request.headers,
          body: read.body,
          signal,
        });
      } finally {
        this.#bodies.giveBack(read.body.length);
      }
    }
    return worded(route, guardRefusal ?? bodyRefusal(read.outcome, bytesMax));
  }

  #targetOf({ method = '', url = '' }: HttpRequest): Target {
    const queryAt = url.indexOf('?');
    const path = queryAt < 0 ? url : url.slice(0, queryAt);
    const query = queryAt < 0 ? '' : url.slice(queryAt + 1);
    const match = this.#router.match(method, path);
    return { method, path, query, match, route: match.outcome === 'found' ? match.route : null };
  }

  async #dispatch(match: Match, request: PortRequest): Promise<PortResponse> {
    switch (match.outcome) {
      case 'no-path':
        return problem(404, 'no-such-path', `There is nothing at ${request.path}.`);
      case 'no-method':
        return notAllowed(request.method, request.path, match.allow);
      case 'found':
        return await this.#handle(match.route, request);
      default:
        return unreachable(match);
    }
  }

  #readBody(request: HttpRequest, bytesMax: number): Promise<BodyRead> {
    const bounds = { bytesMax, timeoutMs: this.#limits.bodyTimeoutMs };
    return readBody(request, bounds, this.#bodies);
  }

  async #handle(route: Route, request: PortRequest): Promise<PortResponse> {
    try {
      return await route.handle(request);
    } catch (error) {
      const refusal = refusalOfError(error);
      if (refusal.status === 500) this.#options.onError(error);
      return worded(route, refusal);
    }
  }

  #send(request: HttpRequest, response: HttpResponse, answer: PortResponse): void {
    const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body;
    const headers: Record<string, string | number> = {
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...answer.headers,
      'content-length': body.byteLength,
    };
    // The rest of a body that was given up on must not be taken for the next request.
    const isCutShort = !request.complete;
    if (request.httpVersionMajor === 1 && (isCutShort || this.#closing !== null)) {
      headers['connection'] = 'close';
    }
    // The two responses have the same shape, which their types do not show.
    const target = response as ServerResponse;
    const sent = request.method === 'HEAD' ? undefined : body;
    this.#answers.hold(sent?.byteLength ?? 0, target);
    target.writeHead(answer.status, headers);
    target.end(sent, () => {
      if (isCutShort && 'stream' in response) response.stream.close();
    });
  }

  async #close(): Promise<void> {
    const servers = this.#ipv6 === null ? [this.#http1] : [this.#http1, this.#ipv6];
    const closed = Promise.all(
      servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))),
    );
    for (const socket of this.#unsniffed) socket.destroy();
    for (const running of this.#running) running.abort();
    for (const session of this.#sessions) session.close();
    this.#http1.closeIdleConnections();
    const timer = setTimeout(() => {
      this.#http1.closeAllConnections();
      for (const session of this.#sessions) session.destroy();
    }, this.#limits.closeTimeoutMs);
    await closed;
    clearTimeout(timer);
  }
}

function guarded(request: HttpRequest, method: string, path: string) {
  const { headers } = request;
  const authority = headers[':authority'];
  const names = [headers.host, typeof authority === 'string' ? authority : undefined];
  return {
    method,
    path,
    authorities: names.filter((name) => name !== undefined),
    origin: headers.origin,
    fetchSite: headers['sec-fetch-site'] as string | undefined,
    contentType: headers['content-type'],
    repeated: repeatedHeaders(request.rawHeaders),
  };
}

function destroy(response: HttpResponse): void {
  if ('stream' in response) response.stream.destroy();
  else response.destroy();
}
