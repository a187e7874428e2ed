import { mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FileWatch } from '../../../cli/file-watch.ts';

let folder: string;
let watches: FileWatch[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-watch-'));
  watches = [];
  // Each wait is over as soon as nothing else is to be done.
  vi.useFakeTimers().setTimerTickMode('nextTimerAsync');
});

afterEach(() => {
  for (const watch of watches) watch.stop();
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function watch(paths: () => readonly string[], onChange: () => Promise<void>): void {
  watches.push(new FileWatch(paths, onChange));
}

describe('FileWatch', () => {
  it('tells of a change once it has rested, and of nothing that has not changed', async () => {
    const path = file('a', 'one');
    let changes = 0;
    watch(
      () => [path],
      async () => {
        changes++;
      },
    );
    await pause(600);
    expect(changes).toBe(0);

    // Written for a second, at every look something else.
    for (let step = 0; step < 10; step++) {
      writeFileSync(path, 'x'.repeat(step + 10));
      await pause(100);
    }
    expect(changes).toBe(0);
    while (changes === 0) await pause(20);
    await pause(600);
    expect(changes).toBe(1);
  });

  it.each([
    ['another file takes its place', (path: string) => renameSync(file('new', 'one'), path)],
    ['only its time changes', (path: string) => utimesSync(path, 1_000, 1_000)],
    ['it goes away', (path: string) => rmSync(path)],
  ])('notices that %s', async (_, change) => {
    const path = file('a', 'one');
    let changes = 0;
    watch(
      () => [path],
      async () => {
        changes++;
      },
    );
    change(path);
    while (changes === 0) await pause(20);
    await pause(600);
    expect(changes).toBe(1);
  });

  it('watches what belongs to it since the last change, which is no change by itself', async () => {
    const [path, part] = [file('a', 'one'), file('part', 'one')];
    let changes = 0;
    watch(
      () => (changes === 0 ? [path] : [path, part]),
      async () => {
        changes++;
      },
    );
    writeFileSync(part, 'before it belongs');
    await pause(600);
    expect(changes).toBe(0);
    writeFileSync(path, 'imports the part');
    while (changes === 0) await pause(20);
    await pause(600);
    expect(changes).toBe(1);
    writeFileSync(part, 'something else');
    while (changes === 1) await pause(20);
  });

  it('notices what changed while the last change was read', async () => {
    const path = file('a', 'one');
    let changes = 0;
    watch(
      () => [path],
      async () => {
        changes++;
        if (changes === 1) writeFileSync(path, 'three');
        await pause(300);
      },
    );
    writeFileSync(path, 'twotwo');
    while (changes < 2) await pause(20);
  });

  it('goes on beside a reader that does not come to an end, which is told so', async () => {
    const [path, part] = [file('a', 'one'), file('part', 'one')];
    const signals: AbortSignal[] = [];
    const own = new FileWatch(
      () => (signals.length === 0 ? [path] : [path, part]),
      (signal) => {
        signals.push(signal);
        return new Promise(() => {});
      },
    );
    watches.push(own);
    const isAborted = () => signals.map(({ aborted }) => aborted);
    writeFileSync(path, 'two two');
    while (signals.length < 1) await pause(20);
    await pause(600);
    expect(isAborted()).toEqual([false]);
    // A file that the reader has come to meanwhile.
    writeFileSync(part, 'two two');
    while (signals.length < 2) await pause(20);
    expect(isAborted()).toEqual([true, false]);
    writeFileSync(path, 'three three');
    while (signals.length < 3) await pause(20);

    own.stop();
    expect(isAborted()).toEqual([true, true, true]);
    writeFileSync(path, 'four four four');
    await pause(700);
    expect(signals).toHaveLength(3);
  });

  it('keeps watching what a reader that runs has not come to yet', async () => {
    const [path, part] = [file('a', 'one'), file('part', 'one')];
    let changes = 0;
    watch(
      () => (changes === 1 ? [path] : [path, part]),
      () => {
        changes++;
        return new Promise(() => {});
      },
    );
    writeFileSync(path, 'two two');
    while (changes < 1) await pause(20);
    await pause(600);
    writeFileSync(part, 'two two');
    while (changes < 2) await pause(20);
  });
});
