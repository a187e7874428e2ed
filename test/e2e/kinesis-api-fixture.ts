/** The Kinesis API on a port of its own, over a stream on disk. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KinesisClient, type KinesisClientConfig } from '@aws-sdk/client-kinesis';
import { LocalStream, type LocalStreamOptions } from '../../adapters/local/stream/local-stream.ts';
import { PortServer } from '../../runtime/http/port-server.ts';
import { kinesisRoute } from '../../runtime/kinesis-api/kinesis-api.ts';

export const systemClock = { nowMs: () => Date.now() };

export interface KinesisServer {
  readonly url: string;
  readonly port: number;
  readonly stream: LocalStream;
  readonly path: string;
  /** Errors that the server could not lay at a client's door. */
  readonly errors: unknown[];
  client(config?: KinesisClientConfig): KinesisClient;
  close(): Promise<void>;
}

export async function startKinesis(
  options: Partial<LocalStreamOptions> = {},
): Promise<KinesisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-kinesis-'));
  const path = options.path ?? join(folder, 'stream.db');
  const stream = LocalStream.open({ path, name: 'flights', clock: systemClock, ...options });
  const errors: unknown[] = [];
  const server = await PortServer.listen({
    port: 0,
    routes: [kinesisRoute({ stream, clock: systemClock, region: 'eu-central-1' })],
    onError: (error) => errors.push(error),
  });
  const clients: KinesisClient[] = [];
  return {
    url: server.url,
    port: server.port,
    stream,
    path,
    errors,
    client: (config = {}) => {
      const client = new KinesisClient({
        endpoint: server.url,
        region: 'eu-central-1',
        credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
        ...config,
      });
      clients.push(client);
      return client;
    },
    close: async () => {
      for (const client of clients) client.destroy();
      await server.close();
      stream.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
