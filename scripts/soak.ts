/**
 * Kills `tidemark dev` in a loop while records flow, and then holds every answer against a recount: nothing lost, nothing
 * doubled, nothing that ever went back.
 *
 *   npm run soak -- [--seconds 60] [--environments 1] [--shards 4] [--seed N]
 *
 * The seed decides records and choices; when exactly a signal arrives is the machine's matter.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { kinesisClient } from '../cli/kinesis-client.ts';
import { DevProcess } from '../examples/flights/dev-process.ts';
import { SoakKiller } from './soak/soak-killer.ts';
import { SoakLedger } from './soak/soak-ledger.ts';
import { SoakProducer } from './soak/soak-producer.ts';
import { SoakReader } from './soak/soak-reader.ts';
import { SoakRecords, seeded } from './soak/soak-records.ts';
import { judge, type Verdict } from './soak/soak-verdict.ts';

const STREAM = 'soak';
const PIPELINE = fileURLToPath(new URL('./soak/pipeline.json', import.meta.url));
const PRODUCERS = 3;
const RECORDS_PER_SECOND = 6_000;
const WRONG_SHOWN_MAX = 30;

const options = readOptions();
const wrong: string[] = [];
const report = (line: string) => wrong.push(line);
console.log(
  `soak: ${options.seconds} s, ${options.shards} shards, ${options.environments} environments, seed ${options.seed}`,
);
const dataFolder = await mkdtemp(join(tmpdir(), 'tidemark-soak-'));
const dev = new DevProcess({ pipeline: PIPELINE, dataFolder, ...options });
let isSound = false;
try {
  isSound = await soak();
} catch (error) {
  report(error instanceof Error ? error.message : String(error));
  wrong.push(...dev.failures);
  conclude();
}
await dev.end('SIGKILL');
if (isSound) await rm(dataFolder, { recursive: true, force: true });
else console.error(`the data is kept in ${dataFolder}; seed ${options.seed}`);
// Producers would go on without an answer.
process.exit(isSound ? 0 : 1);

async function soak(): Promise<boolean> {
  await dev.start();
  const random = seeded(options.seed);
  const ledger = new SoakLedger();
  const records = new SoakRecords(seeded(options.seed + 1));
  const clients = Array.from({ length: PRODUCERS }, () =>
    kinesisClient({ aws: false, endpoint: dev.url }),
  );
  const producers = clients.map((client, index) => {
    const own = seeded(options.seed + 2 + index);
    const recordsPerSecond = RECORDS_PER_SECOND / PRODUCERS;
    return new SoakProducer({
      client,
      stream: STREAM,
      records,
      ledger,
      random: own,
      recordsPerSecond,
    });
  });
  const reader = new SoakReader({ url: () => dev.url, ledger, records, report });
  const killer = new SoakKiller({ dev, ledger, random, report });

  const producing = producers.map((producer) => producer.run());
  const reading = reader.run();
  await killer.run(performance.now() + options.seconds * 1000);
  for (const producer of producers) producer.stop();
  await Promise.all(producing);
  reader.stop();
  await reading;

  // The last words are those of a process that knows only what is on disk.
  await dev.end('SIGKILL');
  await dev.start();
  const client = kinesisClient({ aws: false, endpoint: dev.url });
  const verdict = await judge(dev.url, client, STREAM, ledger);
  for (const each of [client, ...clients]) each.destroy();
  const exit = await dev.end('SIGTERM');
  if (exit?.code !== 0) report(`SIGTERM ended it with ${exit?.signal ?? exit?.code}, expected 0`);
  wrong.push(...verdict.wrong, ...dev.failures);

  console.log(describe(killer, reader, producers, records, verdict));
  return conclude();
}

function describe(
  killer: SoakKiller,
  reader: SoakReader,
  producers: readonly SoakProducer[],
  records: SoakRecords,
  { groups, closedRows, log }: Verdict,
): string {
  const moments = [...killer.kills].map(([moment, count]) => `${moment} ${count}`).join(', ');
  const recoveries = killer.recoveriesMs.toSorted((a, b) => a - b);
  const median = recoveries[Math.floor(recoveries.length / 2)] ?? 0;
  const resent = producers.reduce((sum, producer) => sum + producer.resent, 0);
  return [
    `ended ${killer.killCount} times (${moments}), ${killer.checkpoints} checkpoints on demand`,
    `recovered ${recoveries.length} times, from kill to an answer with all acknowledged records: median ${ms(median)}, max ${ms(recoveries.at(-1) ?? 0)}`,
    `${amount(records.count)} records made, ${amount(resent)} sent again, ${amount(log.records)} in the stream: ${amount(log.duplicates)} duplicates, ${amount(log.bad)} bad, ${amount(log.quarantined.size - log.bad)} late`,
    `${amount(reader.answers)} answers read in between (${amount(reader.unanswered)} requests found no process), ${amount(groups)} groups compared, ${amount(closedRows)} rows of closed windows`,
  ].join('\n');
}

function conclude(): boolean {
  if (wrong.length === 0) {
    console.log('nothing lost, nothing doubled');
    return true;
  }
  console.error(`${wrong.length} things are off (seed ${options.seed}):`);
  for (const line of wrong.slice(0, WRONG_SHOWN_MAX)) console.error(`  ${line}`);
  if (wrong.length > WRONG_SHOWN_MAX) console.error('  …');
  return false;
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '60' },
      environments: { type: 'string', default: '1' },
      shards: { type: 'string', default: '4' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    },
  });
  for (const [name, text] of Object.entries(values)) {
    if (/^[1-9]\d*$/.test(text)) continue;
    console.error(`--${name} takes a whole number from 1, not ${text}`);
    process.exit(2);
  }
  const numbers = Object.entries(values).map(([name, text]) => [name, Number(text)]);
  return Object.fromEntries(numbers) as Record<keyof typeof values, number>;
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}

function amount(value: number): string {
  return value.toLocaleString('en-US');
}
