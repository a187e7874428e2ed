/**
 * Holds the answers of `tidemark dev` against the recounts: every group, every quarantined record, every counter.
 */
import {
  GetRecordsCommand,
  GetShardIteratorCommand,
  type KinesisClient,
  ListShardsCommand,
} from '@aws-sdk/client-kinesis';
import { callQueryApi } from '../../cli/query-client.ts';
import { type Groups, LogRecount, placeOf, type SoakLedger } from './soak-ledger.ts';
import { ask, type Row, type SoakStatus } from './soak-reader.ts';

export interface Verdict {
  readonly wrong: readonly string[];
  readonly groups: number;
  readonly closedRows: number;
  readonly log: LogRecount;
}

interface QuarantinePage {
  readonly records: readonly {
    readonly id: string;
    readonly shardId: string;
    readonly sequenceNumber: string;
    readonly partitionKey: string;
    readonly reason: string;
    readonly data: string;
  }[];
  readonly next: string | null;
}

export async function judge(
  url: string,
  client: KinesisClient,
  stream: string,
  ledger: SoakLedger,
): Promise<Verdict> {
  const log = await recountLog(client, stream);
  const wrong: string[] = [];
  for (const place of ledger.acknowledged.keys()) {
    if (!log.has(place)) wrong.push(`the record acknowledged at ${place} is not in the stream`);
  }
  if (log.distinctIds !== ledger.soundCount) {
    wrong.push(`${log.distinctIds} sound ids in the stream, ${ledger.soundCount} acknowledged`);
  }
  const after = ledger.newestPositions();
  const totals = await rowsOf(url, 'totals', after);
  const minutes = await rowsOf(url, 'minutes', after);
  const fields = ['records', 'total', 'least', 'most', 'average'];
  compare('totals', totals, ledger.totals, fields, wrong);
  compare('minutes', minutes, ledger.minutes, ['records', 'total'], wrong);
  compare('punctual', await rowsOf(url, 'punctual', after), log.punctual, ['records'], wrong);
  compare('strict', await rowsOf(url, 'strict', after), log.punctual, ['records'], wrong);
  compareQuarantine(await quarantine(url), log, wrong);
  compareStatus(await callQueryApi<SoakStatus>(url, '/v1/status'), ledger, log, wrong);
  const groups = ledger.totals.size + ledger.minutes.size + 2 * log.punctual.size;
  return { wrong, groups, closedRows: minutes.filter(({ closed }) => closed).length, log };
}

async function recountLog(client: KinesisClient, stream: string): Promise<LogRecount> {
  const log = new LogRecount();
  const { Shards = [] } = await client.send(new ListShardsCommand({ StreamName: stream }));
  for (const { ShardId } of Shards) {
    const shardId = ShardId as string;
    const start = await client.send(
      new GetShardIteratorCommand({
        StreamName: stream,
        ShardId: shardId,
        ShardIteratorType: 'TRIM_HORIZON',
      }),
    );
    let iterator = start.ShardIterator;
    for (;;) {
      const page = await client.send(new GetRecordsCommand({ ShardIterator: iterator }));
      for (const { SequenceNumber, PartitionKey, Data } of page.Records ?? []) {
        log.add({
          shardId,
          sequenceNumber: SequenceNumber as string,
          partitionKey: PartitionKey as string,
          data: Buffer.from(Data as Uint8Array),
        });
      }
      if (page.Records?.length === 0 && page.MillisBehindLatest === 0) break;
      iterator = page.NextShardIterator;
    }
  }
  return log;
}

async function rowsOf(url: string, view: string, after: readonly string[]): Promise<Row[]> {
  const rows: Row[] = [];
  let next: string | null = null;
  do {
    const answer = await ask(url, view, after, next);
    if (answer.reached === false)
      throw new Error(`${view}: acknowledged records were not in within 10 s`);
    rows.push(...answer.rows);
    next = answer.next;
  } while (next !== null);
  return rows;
}

function compare(
  view: string,
  rows: readonly Row[],
  groups: Groups,
  fields: readonly string[],
  wrong: string[],
): void {
  const seen = new Set<string>();
  for (const { key, window, values } of rows) {
    const start = window === null ? [] : [Date.parse(window.start)];
    const name = [...Object.values(key), ...start].join(' ');
    if (seen.has(name)) wrong.push(`${view} ${name}: there are two rows`);
    seen.add(name);
    const group = groups.get(name);
    if (group === undefined) {
      wrong.push(`${view} ${name}: there is no such group`);
      continue;
    }
    const expected = { ...group, average: group.total / group.records } as Record<string, number>;
    for (const field of fields) {
      if (values[field] === expected[field]) continue;
      wrong.push(`${view} ${name}: ${field} is ${values[field]}, counted ${expected[field]}`);
    }
  }
  for (const name of groups.keys()) {
    if (!seen.has(name)) wrong.push(`${view} ${name}: the row is missing`);
  }
}

async function quarantine(url: string): Promise<QuarantinePage['records']> {
  const records: QuarantinePage['records'][number][] = [];
  let next: string | null = null;
  do {
    const query: string = next === null ? '' : `&next=${encodeURIComponent(next)}`;
    const page: QuarantinePage = await callQueryApi(url, `/v1/quarantine?limit=1000${query}`);
    records.push(...page.records);
    next = page.next;
  } while (next !== null);
  return records;
}

function compareQuarantine(
  records: QuarantinePage['records'],
  log: LogRecount,
  wrong: string[],
): void {
  const left = new Map(log.quarantined);
  for (const record of records) {
    const place = placeOf(record.shardId, record.sequenceNumber);
    const logged = left.get(place);
    if (logged === undefined) {
      wrong.push(`quarantine: ${record.id} (${record.reason}) should not be there, or is twice`);
      continue;
    }
    left.delete(place);
    const isWhole = logged.data.equals(Buffer.from(record.data, 'base64'));
    if (!isWhole || logged.partitionKey !== record.partitionKey) {
      wrong.push(`quarantine: ${record.id} is not what was put`);
    }
  }
  for (const place of left.keys()) wrong.push(`quarantine: the record at ${place} is missing`);
}

function compareStatus(
  { records }: SoakStatus,
  ledger: SoakLedger,
  log: LogRecount,
  wrong: string[],
): void {
  const expected: Record<string, number> = {
    folded: ledger.soundCount,
    duplicates: log.duplicates,
    late: 0,
    quarantined: log.bad,
    unmatched: 0,
  };
  for (const [name, count] of Object.entries(expected)) {
    if (records[name] === count) continue;
    wrong.push(`status.records.${name} is ${records[name]}, counted ${count}`);
  }
}
