/** A process that commits HEAD until it is killed, and prints each revision when it was acknowledged. */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { CheckpointDatabase } from '../../../adapters/local/store/checkpoint-database.ts';
import { FileObjectStore } from '../../../adapters/local/store/file-object-store.ts';
import { LocalCheckpointStore } from '../../../adapters/local/store/local-checkpoint-store.ts';
import { LocalItemStore } from '../../../adapters/local/store/local-item-store.ts';

const folder = argv[2] as string;
const database = CheckpointDatabase.open(join(folder, 'checkpoint.db'));
const heads = new LocalCheckpointStore(database);
const items = new LocalItemStore(database, { nowMs: () => Date.now() });
const objects = await FileObjectStore.open(join(folder, 'objects'));
const base = { sliceId: 'slice-a', delivered: '0', body: new Uint8Array(600) };

await heads.createHead({ ...base, revision: 0 });
for (let revision = ((await heads.readHead('slice-a'))?.revision ?? 0) + 1; ; revision++) {
  await items.create(`slice-a/delta/${revision}`, new Uint8Array(3000).fill(revision));
  await objects.create(`slice-a/base/${revision}`, new Uint8Array(300_000).fill(revision));
  const answer = await heads.writeHead({ ...base, revision }, revision - 1, null);
  if (answer.outcome === 'refused') throw new Error(`revision ${revision} was refused`);
  writeSync(1, `${revision}\n`);
}
