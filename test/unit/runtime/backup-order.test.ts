/** A backup of a folder that is written to while it is copied. */
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openDataFolder } from '../../../adapters/local/data-folder.ts';
import { backUpFolder } from '../../../runtime/folder-backup.ts';
import { smallPlan } from '../../world/small-log.ts';
import { temporaryFolder } from '../adapters-local/temporary-folder.ts';
import { FolderLife } from './data-folder-life.ts';

/** Happens once, while the objects are copied: between the two databases. */
let between: (() => Promise<unknown>) | null = null;

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  const copyFile: typeof original.copyFile = async (...copied) => {
    const happens = between;
    between = null;
    await happens?.();
    return original.copyFile(...copied);
  };
  return { ...original, copyFile };
});

async function opened(path: string): Promise<FolderLife> {
  const folder = await openDataFolder({ path, pipelineName: smallPlan.name });
  const life = await FolderLife.open(path);
  onTestFinished(async () => {
    life.close();
    await folder.close();
  });
  return life;
}

it('what is acknowledged and folded between the copies leaves no checkpoint ahead of its stream', async () => {
  const path = await temporaryFolder();
  const life = await opened(path);
  life.append(12);
  await life.fold();
  between = async () => {
    life.append(5);
    expect(await life.fold()).toBe(17);
  };
  const to = join(await temporaryFolder(), 'copy');
  expect(await backUpFolder(path, to)).toMatchObject({ folded: 12 });
  expect(between).toBeNull();
  expect(await (await opened(to)).fold()).toBe(17);
});
