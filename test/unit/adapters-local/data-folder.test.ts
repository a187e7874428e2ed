import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type DataFolder,
  type DataFolderRequest,
  openDataFolder,
} from '../../../adapters/local/data-folder.ts';
import { entry, openStream } from './stream-fixture.ts';
import { temporaryFolder } from './temporary-folder.ts';

const PROCESS = fileURLToPath(new URL('./data-folder-process.ts', import.meta.url));
const NOBODY = 65_534;

function request(path: string, overrides: Partial<DataFolderRequest> = {}): DataFolderRequest {
  return { path, pipelineName: 'flights', ...overrides };
}

async function opened(
  path: string,
  overrides: Partial<DataFolderRequest> = {},
): Promise<DataFolder> {
  const folder = await openDataFolder(request(path, overrides));
  onTestFinished(() => folder.close());
  return folder;
}

async function dataPath(): Promise<string> {
  return join(await temporaryFolder(), 'data');
}

/** A folder that a pipeline has used, and that nobody holds. */
async function usedFolder(): Promise<string> {
  const path = await dataPath();
  await (await opened(path)).close();
  return path;
}

/** Everything in a folder: names and contents. */
async function snapshot(path: string): Promise<Record<string, string>> {
  const { mtimeMs } = await stat(path);
  const names = await readdir(path);
  const texts = await Promise.all(names.map((name) => readFile(join(path, name), 'latin1')));
  const files = names.map((name, index) => [name, texts[index] as string]);
  return { ...Object.fromEntries(files), changedMs: String(mtimeMs) };
}

interface OtherProcess {
  readonly child: ChildProcess;
  readonly answer: Record<string, unknown>;
}

async function openElsewhere(path: string, userId?: number): Promise<OtherProcess> {
  const user = userId === undefined ? [] : [String(userId)];
  const child = spawn(process.execPath, ['--expose-gc', PROCESS, path, 'flights', ...user], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let printed = '';
  for await (const chunk of child.stdout as NodeJS.ReadableStream) {
    printed += chunk;
    if (printed.endsWith('\n')) break;
  }
  return { child, answer: JSON.parse(printed) };
}

describe('openDataFolder', () => {
  it('makes a folder that is missing, with those above it, for its owner only', async () => {
    const path = join(await temporaryFolder(), 'a', 'b', 'data');
    const folder = await opened(path);
    expect(folder.isNew).toBe(true);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    expect(JSON.parse(await readFile(join(path, 'format.json'), 'utf8'))).toEqual({
      format: 3,
      pipeline: 'flights',
    });
  });

  it('gives absolute paths, from a relative one too', async () => {
    const path = await dataPath();
    const folder = await opened(relative(process.cwd(), path));
    expect(folder).toMatchObject({
      path,
      streamPath: join(path, 'stream.db'),
      checkpointPath: join(path, 'checkpoint.db'),
      objectsPath: join(path, 'objects'),
    });
  });

  it('opens a folder of the same plan again', async () => {
    const path = await usedFolder();
    const folder = await opened(path);
    expect(folder.isNew).toBe(false);
  });

  it('takes an empty folder, and one where a crash came before the format was written', async () => {
    const path = await temporaryFolder();
    await writeFile(join(path, 'lock.db'), '');
    await writeFile(join(path, '.0f8fad5b-d9cb-469f-a165-70867728950e.tmp'), '{"form');
    await mkdir(join(path, 'lost+found'));
    expect((await opened(path)).isNew).toBe(true);
    expect((await readdir(path)).sort()).toEqual(
      ['format.json', 'lock.db', 'lost+found', 'owner.json'].sort(),
    );
  });

  it('refuses a folder with other things in it, and leaves it as it is', async () => {
    const path = await temporaryFolder();
    await writeFile(join(path, 'thesis.tex'), 'x');
    await expect(openDataFolder(request(path))).rejects.toMatchObject({
      name: 'DataFolderError',
      problem: 'not-a-data-folder',
      message: expect.stringMatching(/no data folder of Tidemark: it has thesis\.tex/),
      hint: expect.stringContaining('empty folder'),
    });
    expect(await readdir(path)).toEqual(['thesis.tex']);
  });

  it('refuses a file in place of the folder, or above it', async () => {
    const file = join(await temporaryFolder(), 'file');
    await writeFile(file, 'x');
    for (const path of [file, join(file, 'data')]) {
      await expect(openDataFolder(request(path))).rejects.toMatchObject({
        name: 'DataFolderError',
        problem: 'not-a-folder',
        message: expect.stringContaining(path),
      });
    }
    expect(await readFile(file, 'utf8')).toBe('x');
  });

  it('refuses the folder of another pipeline, names both, and holds nothing', async () => {
    const path = await usedFolder();
    const before = await snapshot(path);
    await expect(openDataFolder(request(path, { pipelineName: 'orders' }))).rejects.toMatchObject({
      name: 'DataFolderError',
      problem: 'other-pipeline',
      message: `data folder ${path} holds the pipeline "flights", not "orders"`,
      hint: expect.stringContaining('another data folder'),
    });
    expect(await snapshot(path)).toEqual(before);
    await opened(path);
  });

  it.each([
    [4, 'NewerFormatFault', 'upgrade tidemark'],
    [2, 'OlderFormatFault', 'start with an empty data folder'],
    [1, 'OlderFormatFault', 'start with an empty data folder'],
  ])('refuses format %s before it looks at anything else in it', async (format, name, hint) => {
    const path = await usedFolder();
    await writeFile(join(path, 'format.json'), `{"format": ${format}, "pipelines": ["orders"]}`);
    const before = await snapshot(path);
    await expect(openDataFolder(request(path))).rejects.toMatchObject({
      name,
      message: `data folder ${path} has format ${format}; this Tidemark reads format 3 only`,
      hint: expect.stringContaining(hint),
    });
    expect(await snapshot(path)).toEqual(before);
  });

  it.each([
    ['', /Unexpected end/],
    ['{"format": 1', /JSON/],
    ['[]', /no format version/],
    ['null', /no JSON object/],
    ['{"format": "1"}', /no format version/],
    ['{"format": 3, "plan": "{}"}', /does not name a pipeline/],
  ])('refuses a damaged format.json: %s', async (text, how) => {
    const path = await usedFolder();
    await writeFile(join(path, 'format.json'), text);
    const before = await snapshot(path);
    const fault = await openDataFolder(request(path)).catch((error) => error);
    expect(fault).toMatchObject({
      name: 'CorruptStateFault',
      message: expect.stringContaining(join(path, 'format.json')),
      hint: expect.stringContaining('put back a copy'),
    });
    expect(fault.message).toMatch(how);
    expect(await snapshot(path)).toEqual(before);
  });

  it.runIf(process.platform === 'linux' || process.getuid?.() !== 0)(
    'refuses a folder that it may not read or write, and one that it may not make',
    async () => {
      const isRoot = process.getuid?.() === 0;
      const path = await usedFolder();
      const open = (where: string) => openElsewhere(where, isRoot ? NOBODY : undefined);
      await chmod(dirname(path), 0o755);
      if (!isRoot) await chmod(path, 0o500);
      for (const where of [path, join(path, 'below')]) {
        const { answer } = await open(where);
        expect(answer).toMatchObject({
          name: 'DataFolderError',
          problem: 'no-access',
          message: expect.stringContaining(where),
          hint: expect.stringContaining('right to read and write'),
        });
      }
      await chmod(path, 0o700);
    },
  );
});

describe('the lock of a data folder', () => {
  it('keeps another process out, says which one has it, and ends with close', async () => {
    const path = await dataPath();
    const folder = await opened(path);
    const { answer } = await openElsewhere(path);
    expect(answer).toEqual({
      name: 'DataFolderError',
      problem: 'in-use',
      message: `data folder ${path} is in use by another process (pid ${process.pid})`,
      hint: expect.stringContaining('stop that process'),
    });
    await folder.close();
    expect((await openElsewhere(path)).answer).toEqual({ kind: 'opened' });
  });

  it('holds although its file was deleted: the owner has the stream open', async () => {
    const path = await dataPath();
    await opened(path);
    const stream = openStream({ path: join(path, 'stream.db') });
    await rm(join(path, 'lock.db'));
    for (const attempt of ['the first', 'one that finds the lock of the first']) {
      const { answer } = await openElsewhere(path);
      expect(answer, attempt).toMatchObject({
        problem: 'in-use',
        message: expect.stringContaining(`pid ${process.pid}`),
      });
    }
    stream.append([entry('a')]);
  });

  it('leaves the owner of a folder that took its name alone', async () => {
    const path = await dataPath();
    const folder = await opened(path);
    await rename(path, `${path}-away`);
    const { child } = await openElsewhere(path);
    await folder.close();
    expect(JSON.parse(await readFile(join(path, 'owner.json'), 'utf8'))).toEqual({
      pid: child.pid,
    });
  });

  it('keeps out a second opening in the same process', async () => {
    const path = await dataPath();
    await opened(path);
    await expect(openDataFolder(request(path))).rejects.toMatchObject({ problem: 'in-use' });
    // The failed attempt has not loosened the lock.
    expect((await openElsewhere(path)).answer).toMatchObject({ problem: 'in-use' });
  });

  it('is held although nobody refers to the folder any more, and goes with SIGKILL', async () => {
    const path = await dataPath();
    const { child, answer } = await openElsewhere(path);
    expect(answer).toEqual({ kind: 'opened' });
    await expect(openDataFolder(request(path))).rejects.toMatchObject({
      problem: 'in-use',
      message: expect.stringContaining(`pid ${child.pid}`),
    });
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    expect((await opened(path)).isNew).toBe(false);
  });

  it('is waited for a moment, when its owner is about to end', async () => {
    const path = await dataPath();
    const { child } = await openElsewhere(path);
    child.kill('SIGKILL');
    expect((await opened(path)).isNew).toBe(false);
  });

  it('names no process when the owner has not said which it is', async () => {
    const path = await dataPath();
    await opened(path);
    await rm(join(path, 'owner.json'));
    await expect(openDataFolder(request(path))).rejects.toMatchObject({
      message: `data folder ${path} is in use by another process`,
    });
  });

  it('of two folders are two locks', async () => {
    const [one, other] = [await dataPath(), await dataPath()];
    await opened(one);
    await opened(other, { pipelineName: 'orders' });
  });

  it('that is closed twice does not close another’s', async () => {
    const path = await dataPath();
    const first = await opened(path);
    await first.close();
    await opened(path);
    await first.close();
    expect((await openElsewhere(path)).answer).toMatchObject({
      problem: 'in-use',
      message: expect.stringContaining(`pid ${process.pid}`),
    });
  });
});

describe('a folder above the data folder', () => {
  it('is made where it is missing', async () => {
    const path = join(await temporaryFolder(), 'a', 'b', 'data');
    expect((await opened(path)).isNew).toBe(true);
  });

  it.runIf(process.platform === 'linux').each(['/proc/tidemark', '/proc/tidemark/a/data'])(
    'that takes no folders is refused by name: %s',
    async (path) => {
      await expect(openDataFolder(request(path))).rejects.toMatchObject({
        message: 'cannot make the folder /proc/tidemark: no folder can be made in /proc',
        hint: 'name a folder on a local disk',
      });
    },
  );
});
