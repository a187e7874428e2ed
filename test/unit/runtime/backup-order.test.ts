/** A backup of a folder that is written to while it is copied. */
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openDataFolder } from '../../../adapters/local/data-folder.ts';
import { backUpFolder } from '../../../runtime/folder-backup.ts';
import { smallPlan } from '../../world/small-log.ts';
import { temporaryFolder } from '../adapters-local/temporary-folder.ts';
import { FolderLife } from './data-folder-life.ts';

/** While the objects are copied: between the two databases. */
function atTheFirstCopy(happens: () => Promise<unknown>): void {
  const { copyFile } = fs;
  const spy = vi.spyOn(fs, 'copyFile').mockImplementationOnce(async (...copied) => {
    await happens();
    return copyFile(...copied);
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
}

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
  let happened = false;
  atTheFirstCopy(async () => {
    life.append(5);
    expect(await life.fold()).toBe(17);
    happened = true;
  });
  const to = join(await temporaryFolder(), 'copy');
  expect(await backUpFolder(path, to)).toMatchObject({ folded: 12 });
  expect(happened).toBe(true);
  expect(await (await opened(to)).fold()).toBe(17);
});
