/**
 * A report for a person: what was found, what it costs and what to do, then what the checkpoints weigh.
 */
import type { Finding } from './findings.ts';
import type { SimulationReport } from './simulation-report.ts';

const KIB = 1024;

export function reportText(report: Omit<SimulationReport, 'text'>): string {
  const { pipeline, planHash, records, shards, seeds, findings } = report;
  const seedText = seeds.length === 1 ? `seed ${seeds[0]}` : `${seeds.length} seeds`;
  return [
    `${pipeline} (plan ${planHash.slice(0, 8)}): ${counted(records, 'record')}, ${counted(shards, 'shard')}, ${seedText}`,
    '',
    ...(records === 0
      ? ['There are no records: nothing was simulated.']
      : findings.length === 0
        ? ['Nothing was found: every answer is what the records say.']
        : findings.flatMap((finding, index) => findingLines(finding, index + 1, seeds.length))),
    '',
    ...arrivalLines(report),
    ...sizeLines(report),
  ].join('\n');
}

function findingLines(finding: Finding, number: number, seedsOfAll: number): string[] {
  const { kind, view, rows, why, advice, seed, seedCount, firstRecord, example } = finding;
  const place = view === null ? '' : ` in ${view}`;
  const wrong =
    rows === null || rows === 0
      ? ''
      : `; ${counted(rows, 'row')} of ${view} ${rows === 1 ? 'differs' : 'differ'}`;
  const first = firstRecord === null ? '' : `, first with record ${firstRecord}`;
  return [
    `${number}. ${kind}${place}: ${why}${wrong}.`,
    ...(example === null ? [] : [`   record ${firstRecord}: ${example}`]),
    `   ${advice}.`,
    `   seen with ${seedCount} of ${counted(seedsOfAll, 'seed')}, first with seed ${seed}${first}`,
  ];
}

/** Where the shards got more than the records: whose they are, so that the lines below add up. */
function arrivalLines({
  records,
  retries,
  heartbeats,
  seeds,
}: Omit<SimulationReport, 'text'>): string[] {
  if (retries + heartbeats === 0) return [];
  const more = [
    ...(retries === 0
      ? []
      : [counted(retries, 'copy that a retry sent', 'copies that retries sent')]),
    ...(heartbeats === 0 ? [] : [counted(heartbeats, 'heartbeat')]),
  ];
  return [
    `with seed ${seeds[0]} the shards got ${counted(records + retries + heartbeats, 'record')}: the ${counted(records, 'record')} and ${more.join(' and ')}`,
  ];
}

function sizeLines({ sizes }: Omit<SimulationReport, 'text'>): string[] {
  return sizes
    .filter(({ records }) => records > 0)
    .map(({ shardId, records, commits, entriesMax, stateBytesMax, deltaBytes }) => {
      const commit = commits === 0 ? 0 : deltaBytes / commits;
      return (
        `${shardId}: ${counted(records, 'record')} in ${counted(commits, 'checkpoint')} of ${bytes(commit)} ` +
        `(${bytes(deltaBytes / records)} a record); at most ${counted(entriesMax, 'open entry', 'open entries')}, ` +
        `${bytes(stateBytesMax)} to read after a crash`
      );
    });
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}

function bytes(count: number): string {
  if (count < KIB) return `${Math.round(count)} B`;
  if (count < KIB * KIB) return `${(count / KIB).toFixed(1)} KiB`;
  return `${(count / KIB / KIB).toFixed(1)} MiB`;
}
