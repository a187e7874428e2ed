/** A process that requests, finishes, activates and suspects until it is killed, and prints each round when it was done. */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { CheckpointDatabase } from '../../../adapters/local/store/checkpoint-database.ts';
import { LocalInbox } from '../../../adapters/local/store/local-inbox.ts';
import { LocalPlanRegistry } from '../../../adapters/local/store/local-plan-registry.ts';
import { LocalSuspicionStore } from '../../../adapters/local/store/local-suspicion-store.ts';
import { START } from '../../../core/position.ts';

const folder = argv[2] as string;
const database = CheckpointDatabase.open(join(folder, 'checkpoint.db'));
const inbox = new LocalInbox(database);
const plans = new LocalPlanRegistry(database);
const suspicions = new LocalSuspicionStore(database);

for (let round = ((await plans.active())?.ordinal ?? 0) + 1; ; round++) {
  const id = String(round).padStart(6, '0');
  const records = Array.from({ length: 200 }, (_, at) => `${round}/${at}`);
  await suspicions.write('slice-a', { position: START, attempts: round, chunkRecords: round });
  await inbox.put({ id, sliceId: 'slice-a', records, done: null });
  const done = { timeline: 0, epoch: round, redriven: records, refused: [] };
  await inbox.finish('slice-a', id, done);
  const pipeline = `${round} `.repeat(2000);
  const answer = await plans.activate({ ordinal: round, hash: `${round}`, pipeline });
  if (answer === 'refused') throw new Error(`ordinal ${round} was refused`);
  writeSync(1, `${round}\n`);
}
