import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { writeEmulatorRuntime } from '../../infra/emulator-target.ts';
import { newFolder } from './pipeline-app.ts';

interface Told {
  readonly path: string;
  readonly errorType: string | undefined;
  readonly body: unknown;
}

/** A Lambda runtime API that hands out events one after the other; gives all that it was told, once there are `count`. */
async function runOn(handler: string, events: unknown[], count: number): Promise<Told[]> {
  const folder = join(newFolder(), 'function');
  mkdirSync(folder);
  writeFileSync(join(folder, 'index.mjs'), handler);
  writeEmulatorRuntime(folder);
  const told: Told[] = [];
  const done = Promise.withResolvers<void>();
  const server = createServer((request, response) => void serve(request, response));
  let next = 0;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.replace('/2018-06-01/runtime', '') ?? '';
    if (path === '/invocation/next') {
      // The last request waits for ever, as Lambda's does.
      if (next === events.length) return;
      response.setHeader('lambda-runtime-aws-request-id', `id-${next}`);
      response.setHeader('lambda-runtime-deadline-ms', String(Date.now() + 60_000));
      response.end(JSON.stringify(events[next++]));
      return;
    }
    const errorType = request.headers['lambda-runtime-function-error-type'];
    told.push({ path, errorType: errorType?.toString(), body: JSON.parse(await text(request)) });
    response.end();
    if (told.length === count) done.resolve();
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const child = spawn(join(folder, 'bootstrap'), {
    env: {
      ...process.env,
      AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}`,
      LAMBDA_TASK_ROOT: folder,
      _HANDLER: 'index.handler',
    },
    stdio: 'inherit',
  });
  onTestFinished(() => {
    child.kill();
    server.closeAllConnections();
    server.close();
  });
  await done.promise;
  return told;
}

describe('the runtime on an emulator', () => {
  it('gives events to the handler, and keeps the names of what it throws', async () => {
    const told = await runOn(
      `export const handler = async (event, context) => {
         if (event.fails) throw Object.assign(new Error('not now'), { name: 'HeldFault' });
         const leftMs = context.getRemainingTimeInMillis();
         return event.silent ? undefined : { got: event.n, hasTime: leftMs > 1000 && leftMs <= 60000 };
       };`,
      [{ n: 1 }, { fails: true }, { silent: true }],
      3,
    );

    expect(told).toEqual([
      { path: '/invocation/id-0/response', errorType: undefined, body: { got: 1, hasTime: true } },
      {
        path: '/invocation/id-1/error',
        errorType: 'HeldFault',
        body: {
          errorType: 'HeldFault',
          errorMessage: 'not now',
          trace: expect.arrayContaining([expect.stringContaining('index.mjs')]),
        },
      },
      { path: '/invocation/id-2/response', errorType: undefined, body: null },
    ]);
  });

  it('tells why code does not load', async () => {
    const told = await runOn(
      "throw new TypeError('no plan');\nexport const handler = null;",
      [],
      1,
    );

    expect(told).toMatchObject([
      { path: '/init/error', errorType: 'TypeError', body: { errorMessage: 'no plan' } },
    ]);
  });
});
