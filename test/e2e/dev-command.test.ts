import { execFileSync, type StdioOptions, spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { order, writePipeline } from './orders.ts';
import { newFolder, pause, tidemark } from './tidemark-process.ts';

const CLI = fileURLToPath(new URL('../../cli/bin.js', import.meta.url));
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const made = newFolder();
  folders.push(made);
  writePipeline(made);
  return made;
}

const DEV = ['dev', '--port', '0', '--pipeline', 'shop.json'];

describe('tidemark dev -- CMD', () => {
  it('runs the command with the port in its environment, and ends with its exit code', async () => {
    const script = [
      `tidemark() { "${process.execPath}" "${CLI}" "$@"; }`,
      'after=$(tidemark put - --key order --stream orders | sed -n "s/.*--after \\([^ ]*\\).*/\\1/p")',
      'tidemark query by_shop --after "$after" --json',
      'echo "$AWS_REGION $AWS_ACCESS_KEY_ID [$AWS_PROFILE]" >&2',
      'exit 7',
    ].join('\n');
    const { code, stdout, stderr } = await tidemark(
      [...DEV, '--region', 'eu-west-1', '--', 'sh', '-c', script],
      {
        cwd: folder(),
        // Nothing listens there: what went by it would fail.
        env: {
          AWS_PROFILE: 'real',
          AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true',
          HTTP_PROXY: 'http://127.0.0.1:9',
          http_proxy: 'http://127.0.0.1:9',
          NODE_USE_ENV_PROXY: '1',
        },
        input: JSON.stringify(order('a', 'north', 2)),
      },
    );

    expect(code).toBe(7);
    // Standard output is the command's alone.
    expect(JSON.parse(stdout)).toMatchObject({ rows: [{ values: { orders: 1, revenue: 2 } }] });
    expect(stderr).toContain('tidemark dev: pipeline shop is ready at');
    expect(stderr).toContain('eu-west-1 local []');
    expect(stderr).not.toContain('export AWS_ENDPOINT_URL_KINESIS');
  });

  it('ends without a stack when its output is no longer read', async () => {
    const cwd = folder();
    const child = spawn(process.execPath, [CLI, ...DEV], { cwd });
    let stderr = '';
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.stdout.destroy();
    // It has something to say again.
    writeFileSync(join(cwd, 'shop.json'), `${readFileSync(join(cwd, 'shop.json'), 'utf8')}\n`);

    expect(await ended).toBe(0);
    expect(stderr).toBe('');
    expect(existsSync(join(cwd, '.tidemark/owner.json'))).toBe(false);
  });

  it.runIf(existsSync('/dev/full'))(
    'goes on, and says so once, where the disk behind its output is full',
    async () => {
      const cwd = folder();
      const stdio: StdioOptions = ['ignore', openSync('/dev/full', 'w'), 'pipe'];
      const child = spawn(process.execPath, [CLI, ...DEV], { cwd, stdio });
      let stderr = '';
      child.stderr?.on('data', (text) => {
        stderr += text;
      });
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
      while (!stderr.includes('\n') && child.exitCode === null) await pause(20);
      // It goes on reading its file, and has something to print again.
      writeFileSync(join(cwd, 'shop.json'), `${readFileSync(join(cwd, 'shop.json'), 'utf8')}\n`);
      await pause(800);
      writeFileSync(join(cwd, 'shop.json'), '{');
      while (!stderr.includes('the pipeline that ran before') && child.exitCode === null)
        await pause(20);
      child.kill('SIGTERM');

      expect(await ended).toBe(0);
      expect(stderr).toMatch(
        /^warning: standard output cannot be written \(ENOSPC: [^)]+\): the pipeline goes on without it\nshop\.json is not JSON: /,
      );
      expect(stderr.match(/ENOSPC/g)).toHaveLength(1);
    },
  );

  it('is ended by a signal while a start hangs', async () => {
    const cwd = folder();
    const data = join(cwd, '.tidemark');
    mkdirSync(data);
    // Reading it waits for a writer.
    execFileSync('mkfifo', [join(data, 'format.json')]);
    const child = spawn(process.execPath, [CLI, ...DEV], { cwd });
    const ended = new Promise((resolve) => child.once('close', (...how) => resolve(how)));
    while (!existsSync(join(data, 'lock.db'))) await pause(20);
    child.kill('SIGTERM');

    expect(await ended).toEqual([null, 'SIGTERM']);
  });

  it('passes a signal on, and ends when the command has', async () => {
    const cwd = folder();
    const script = `trap 'echo ending; exit 3' TERM; echo started; while :; do sleep 0.05; done`;
    const child = spawn(process.execPath, [CLI, ...DEV, '--', 'sh', '-c', script], { cwd });
    let stdout = '';
    child.stdout.on('data', (text) => {
      stdout += text;
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    while (!stdout.includes('started')) await pause(20);
    child.kill('SIGTERM');

    expect(await ended).toBe(3);
    expect(stdout).toBe('started\nending\n');
    // It has ended itself too, and given the folder back.
    expect(existsSync(join(cwd, '.tidemark/owner.json'))).toBe(false);
  });

  it('ends with 128 and the number of the signal that ended the command', async () => {
    const { code } = await tidemark([...DEV, '--', 'sh', '-c', 'kill -9 $$'], { cwd: folder() });

    expect(code).toBe(137);
  });

  it('says so if there is no such program, and ends', async () => {
    const { code, stderr } = await tidemark([...DEV, '--', 'no-such-program'], { cwd: folder() });

    expect(code).toBe(1);
    expect(stderr).toContain("error: cannot run 'no-such-program': there is no such program");
  });

  it('refuses a command without --, and takes no folder for it', async () => {
    const cwd = folder();
    const { code, stderr } = await tidemark([...DEV, 'shop.json'], { cwd });

    expect(code).toBe(2);
    expect(stderr).toContain("unexpected 'shop.json'; a command to run comes after --");
    expect(existsSync(join(cwd, '.tidemark'))).toBe(false);
  });
});
