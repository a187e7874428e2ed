/** kinesis-local in a process of its own, on the loopback interface only. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const PRELOAD = fileURLToPath(new URL('./kinesis-local-preload.ts', import.meta.url));
const START_MS_MAX = 20_000;

/** The program, or null where the package is not installed. */
export function findKinesisLocal(): string | null {
  try {
    return require.resolve('kinesis-local');
  } catch {
    return null;
  }
}

export interface KinesisLocal {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startKinesisLocal(program: string): Promise<KinesisLocal> {
  const child = spawn(process.execPath, ['--import', PRELOAD, program], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      KINESIS_MOCK_CERT_PATH: join(dirname(program), 'server.json'),
      KINESIS_MOCK_PLAIN_PORT: '4568',
      KINESIS_MOCK_TLS_PORT: '4567',
      SHARD_LIMIT: '1000',
      LOG_LEVEL: 'ERROR',
      CREATE_STREAM_DURATION: '0s',
      DELETE_STREAM_DURATION: '0s',
      SPLIT_SHARD_DURATION: '0s',
      MERGE_SHARDS_DURATION: '0s',
    },
  });
  const stop = () => stopped(child);
  try {
    return { url: `http://127.0.0.1:${await portOf(child)}`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function portOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (why: string) => reject(new Error(`kinesis-local ${why}: ${output}`));
    const timer = setTimeout(() => fail('did not start'), START_MS_MAX);
    child.once('exit', (code) => fail(`ended with ${code}`));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        output += chunk;
        const port = /^port (\d+)$/m.exec(output)?.[1];
        if (port === undefined) return;
        clearTimeout(timer);
        resolve(port);
      });
    }
  });
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}
