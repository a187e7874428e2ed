/**
 * An emulator of AWS on the loopback address, for contract tests and for the deploy lane: ministack, in a Python environment
 * of its own (`.venv-aws`).
 *
 *   node scripts/aws-emulator.ts start|stop|reset [--port N]
 *
 * What a run writes, its log and its process id, is in `.tmp/`.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const VERSION = '1.5.33';
/** boto3 is no part of it: the deploy lane puts records by it, and its botocore is the one that ministack brings. */
const PACKAGES = [`ministack==${VERSION}`, 'boto3==1.43.106'];
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ENVIRONMENT = join(ROOT, '.venv-aws');
/** Written last: the environment is whole. */
const READY_MARK = join(ENVIRONMENT, `${PACKAGES.join('-')}.ready`);
const RUN_FOLDER = join(ROOT, '.tmp');
const LOCK = join(RUN_FOLDER, 'venv-aws.lock');
const LOCK_AGE_MS_MAX = 180_000;
const HOST = '127.0.0.1';
const DEFAULT_PORT = 4566;
const START_MS_MAX = 20_000;
const TERM_MS_MAX = 10_000;
const POLL_MS = 50;

/** The Python that has boto3. */
export const EMULATOR_PYTHON = join(ENVIRONMENT, 'bin', 'python');

/** What every client of the emulator is made with. */
export const EMULATOR_REGION = 'us-east-1';
export const EMULATOR_CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };

export interface AwsEmulator {
  readonly endpoint: string;
  stop(): Promise<void>;
}

/** Python or the package cannot be had here: the caller goes without the emulator. */
export class EmulatorMissing extends Error {
  override readonly name = 'EmulatorMissing';
}

/** Starts an emulator that ends with this process at the latest; on a port that is free, unless given. */
export async function startAwsEmulator(port?: number): Promise<AwsEmulator> {
  await prepareEnvironment();
  const chosen = port ?? (await freePort());
  const pid = await launch(chosen, false);
  const kill = () => signal(pid, 'SIGKILL');
  process.once('exit', kill);
  return {
    endpoint: endpointOf(chosen),
    stop: async () => {
      process.off('exit', kill);
      await end(pid);
      await rm(logFile(chosen), { force: true });
    },
  };
}

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { port: { type: 'string', default: String(DEFAULT_PORT) } },
  });
  const port = Number(values.port);
  switch (positionals.join(' ')) {
    case 'start':
      return startInBackground(port);
    case 'stop':
      return stopInBackground(port);
    case 'reset':
      return reset(port);
    default:
      console.error('node scripts/aws-emulator.ts start|stop|reset [--port N]');
      process.exitCode = 2;
  }
}

async function startInBackground(port: number): Promise<void> {
  if (await isHealthy(port)) throw new Error(`something answers at ${endpointOf(port)} already`);
  await prepareEnvironment();
  const pid = await launch(port, true);
  await writeFile(pidFile(port), `${pid}\n`);
  console.log(`ministack ${VERSION} at ${endpointOf(port)} (process ${pid})`);
}

async function stopInBackground(port: number): Promise<void> {
  const pid = Number(await readFile(pidFile(port), 'utf8').catch(() => '0'));
  if (pid > 0 && (await isMinistack(pid))) await end(pid);
  await rm(pidFile(port), { force: true });
}

async function reset(port: number): Promise<void> {
  if (!(await isHealthy(port))) throw new Error(`no emulator answers at ${endpointOf(port)}`);
  await fetch(`${endpointOf(port)}/_ministack/reset`, { method: 'POST' });
}

/** Makes the Python environment unless it is there. Two at once: one makes it, the other waits. */
async function prepareEnvironment(): Promise<void> {
  await mkdir(RUN_FOLDER, { recursive: true });
  while (!(await exists(READY_MARK))) {
    if (!(await takeLock())) {
      await pause();
      continue;
    }
    try {
      if (!(await exists(READY_MARK))) await makeEnvironment();
    } finally {
      await rm(LOCK, { recursive: true, force: true });
    }
  }
}

async function makeEnvironment(): Promise<void> {
  await rm(ENVIRONMENT, { recursive: true, force: true });
  const pip = join(ENVIRONMENT, 'bin', 'pip');
  const quietly = ['--quiet', '--disable-pip-version-check', '--retries', '1', '--timeout', '15'];
  await run('python3', ['-m', 'venv', ENVIRONMENT], 'Python with its module venv is needed');
  await run(pip, ['install', ...quietly, ...PACKAGES], 'PyPI does not give ministack and boto3');
  await writeFile(READY_MARK, '');
}

async function run(command: string, args: readonly string[], otherwise: string): Promise<void> {
  try {
    await promisify(execFile)(command, args, { timeout: LOCK_AGE_MS_MAX });
  } catch (cause) {
    const said = (cause as { stderr?: string }).stderr?.trim().split('\n').at(-1);
    throw new EmulatorMissing(`${otherwise}: ${said || (cause as Error).message}`, { cause });
  }
}

/** False if another process has it. A lock that is too old was left by a process that died. */
async function takeLock(): Promise<boolean> {
  try {
    await mkdir(LOCK);
    return true;
  } catch {
    const found = await stat(LOCK).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > LOCK_AGE_MS_MAX) {
      await rm(LOCK, { recursive: true, force: true });
    }
    return false;
  }
}

/** Starts ministack and waits until it answers; gives its process id. */
async function launch(port: number, isDetached: boolean): Promise<number> {
  const log = await open(logFile(port), 'w');
  try {
    const child = spawn(join(ENVIRONMENT, 'bin', 'ministack'), {
      env: environmentFor(port),
      stdio: ['ignore', log.fd, log.fd],
      detached: isDetached,
    });
    const ended = once(child, 'exit').catch(() => {});
    let hasEnded = false;
    void ended.then(() => {
      hasEnded = true;
    });
    const startedMs = Date.now();
    while (!(await isHealthy(port))) {
      if (!hasEnded && Date.now() - startedMs < START_MS_MAX) {
        await pause();
        continue;
      }
      child.kill('SIGKILL');
      throw new Error(`ministack does not answer; its log is ${logFile(port)}`);
    }
    child.unref();
    if (hasEnded || child.pid === undefined) throw new Error(`port ${port} is another process's`);
    return child.pid;
  } finally {
    await log.close();
  }
}

function environmentFor(port: number): Record<string, string | undefined> {
  // Functions inherit what it has: nothing of AWS that the caller's own shell names.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('AWS_'));
  return {
    ...Object.fromEntries(inherited),
    // Functions run on the first Node of the path.
    PATH: [join(ROOT, 'node_modules', '.bin'), process.env['PATH'] ?? ''].join(delimiter),
    BIND_HOST: HOST,
    GATEWAY_PORT: String(port),
    MINISTACK_HOST: HOST,
    IOT_MTLS_ENABLED: '0',
    SFTP_ENABLED: '0',
    PERSIST_STATE: '0',
    MINISTACK_ACCOUNT_ID: '000000000000',
    MINISTACK_REGION: EMULATOR_REGION,
  };
}

/** It takes TERM, but not while a custom resource is pending. */
async function end(pid: number): Promise<void> {
  signal(pid, 'SIGTERM');
  for (const startedMs = Date.now(); Date.now() - startedMs < TERM_MS_MAX; ) {
    if (!signal(pid, 0)) return;
    await pause();
  }
  signal(pid, 'SIGKILL');
}

/** False if there is no such process. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** The number may be another process's by now. */
async function isMinistack(pid: number): Promise<boolean> {
  const answer = promisify(execFile)('ps', ['-p', String(pid), '-o', 'command=']);
  return (await answer.catch(() => ({ stdout: '' }))).stdout.includes('ministack');
}

async function isHealthy(port: number): Promise<boolean> {
  const url = `${endpointOf(port)}/_ministack/health`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => null);
  return answer?.ok === true;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}

function endpointOf(port: number): string {
  return `http://${HOST}:${port}`;
}

function logFile(port: number): string {
  return join(RUN_FOLDER, `aws-${port}.log`);
}

function pidFile(port: number): string {
  return join(RUN_FOLDER, `aws-${port}.pid`);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function pause(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

if (import.meta.main) {
  await main().catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
