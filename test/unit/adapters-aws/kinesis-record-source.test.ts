import { describe, expect, it, vi } from 'vitest';
import { AwsCalls } from '../../../adapters/aws/aws-calls.ts';
import { KinesisPages, type PipelineStart } from '../../../adapters/aws/kinesis/kinesis-pages.ts';
import { KinesisRecordSource } from '../../../adapters/aws/kinesis/kinesis-record-source.ts';
import { KinesisShardDirectory } from '../../../adapters/aws/kinesis/kinesis-shard-directory.ts';
import { KinesisTips } from '../../../adapters/aws/kinesis/kinesis-tips.ts';
import { ShardList } from '../../../adapters/aws/kinesis/shard-list.ts';
import { STREAM_ID } from '../../../adapters/memory/memory-ports.ts';
import { ConfigurationFault, StreamMismatchFault, TransientFault } from '../../../core/faults.ts';
import type { SourceRead } from '../../../core/ports.ts';
import { type Position, START } from '../../../core/position.ts';
import { MemoryTipMarks } from '../../contract/kinesis-memory-tip-marks.ts';
import { ARN, FakeKinesis, type FakeRecord, SHARD } from './fake-kinesis.ts';

const HOUR_MS = 60 * 60_000;
const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

class Setting {
  ms = NOW_MS;
  leftMs = 60_000;
  /** Retention, as the stream says it. */
  hours = 24;
  readonly stream = new FakeKinesis({ nowMs: () => this.ms });
  readonly marks = new MemoryTipMarks();
  readonly start: PipelineStart;

  constructor(start: PipelineStart = 'TRIM_HORIZON') {
    this.start = start;
  }

  /** As a new environment has them. */
  connect({ callsMax = 200, pauseMs = 0 } = {}) {
    const clock = { nowMs: () => this.ms };
    const timeLeftMs = () => this.leftMs;
    const { marks, start } = this;
    const { client } = this.stream;
    const calls = new AwsCalls({ timeLeftMs, pauseMs: 0 });
    const shards = new ShardList({ client, calls, streamArn: ARN });
    const pages = new KinesisPages({ client, calls, streamArn: ARN, shards, start, clock });
    const kept = { marks, retention: { hours: async () => this.hours }, clock };
    const source = new KinesisRecordSource({ ...kept, pages, timeLeftMs, callsMax, pauseMs });
    const tips = new KinesisTips({ ...kept, source });
    return {
      source,
      tips,
      directory: new KinesisShardDirectory({
        shards,
        tips,
        summary: { streamId: async () => STREAM_ID },
        clock,
      }),
    };
  }

  passHours(hours: number): void {
    this.ms += hours * HOUR_MS;
  }
}

function at({ sequenceNumber }: FakeRecord): Position {
  return { sequenceNumber, subSequence: 0 };
}

const nth = (records: readonly FakeRecord[], index: number) => records[index] as FakeRecord;

/** What was read, as text: records' data, then `.` at the tip; `trimmed`, then the oldest that is left. */
function shown(read: SourceRead, records: readonly FakeRecord[] = []): string {
  if (read.outcome === 'gone') return read.outcome;
  if (read.outcome === 'trimmed') {
    const { oldest } = read;
    const found = records.find(({ sequenceNumber }) => sequenceNumber === oldest?.sequenceNumber);
    return `trimmed to ${found?.data ?? oldest}`;
  }
  const datas = read.records.map(({ data }) => new TextDecoder().decode(data)).join('');
  return datas + (read.reachedTip ? '.' : '');
}

describe('KinesisRecordSource', () => {
  it('begins with the record at the position, and asks for no more than it needs', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abcdef');
    const { source } = setting.connect();
    expect(shown(await source.readAfter(SHARD, at(nth(records, 1)), 2))).toBe('cd');
    expect(setting.stream.calls).toEqual(['GetShardIterator AT_SEQUENCE_NUMBER', 'GetRecords 4']);
  });

  it('leaves a shard to others between two reads, and does not wait before the first', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abcdef');
    const { source } = setting.connect({ pauseMs: 3_600_000 });
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 2))).toBe('bc');
    const calls = setting.stream.calls.length;
    const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation((work, ms) => {
      // The whole pause is waited for before anything is asked.
      expect(setting.stream.calls).toHaveLength(calls);
      expect(ms).toBeGreaterThan(3_500_000);
      queueMicrotask(work as () => void);
      return 0 as unknown as NodeJS.Timeout;
    });
    try {
      expect(shown(await source.readAfter(SHARD, at(nth(records, 2)), 2))).toBe('de');
      expect(timers).toHaveBeenCalledOnce();
    } finally {
      timers.mockRestore();
    }
  });

  it('takes a position inside an aggregate for the whole record', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abc');
    const { source } = setting.connect();
    const inside = { ...at(nth(records, 0)), subSequence: 4 };
    expect(shown(await source.readAfter(SHARD, inside, 10))).toBe('bc.');
  });

  it('goes on from the last record without a new iterator, also after nothing was there', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abcdef');
    const { source } = setting.connect();
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 2))).toBe('bc');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 2)), 2))).toBe('de');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 4)), 2))).toBe('f.');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 5)), 2))).toBe('.');
    setting.stream.append('g');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 5)), 2))).toBe('g.');
    expect(setting.stream.countOf('GetShardIterator')).toBe(1);
  });

  it('a full page is not the tip, even where Kinesis is no millisecond behind', async () => {
    const setting = new Setting();
    setting.stream.append(...'abcdefghij'.repeat(1_001));
    const [first] = setting.stream.records;
    const { source } = setting.connect();
    const most = 10_000;
    const read = await source.readAfter(SHARD, at(first as FakeRecord), most);
    expect(read).toMatchObject({ outcome: 'records', reachedTip: false });
    expect(shown(read)).toHaveLength(most);
  });

  it('opens anew for any other position', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abcdef');
    const { source } = setting.connect();
    await source.readAfter(SHARD, at(nth(records, 0)), 2);
    expect(shown(await source.readAfter(SHARD, at(nth(records, 1)), 2))).toBe('cd');
  });

  it('reads on through empty pages while records follow', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abc');
    const { source } = setting.connect();
    setting.stream.faults.push('empty', 'cut', 'empty', 'cut', 'empty');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 10))).toBe('bc.');
  });

  it('ends with nothing, short of the tip, when calls or time run out, and goes on from there', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abc');
    const { source } = setting.connect({ callsMax: 3 });
    setting.stream.faults.push('cut', 'empty', 'empty', 'empty');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 10))).toBe('');
    setting.leftMs = 4_000;
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 10))).toBe('');
    expect(setting.stream.countOf('GetRecords')).toBe(4);
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 10))).toBe('bc.');
    expect(setting.stream.countOf('GetShardIterator')).toBe(1);
  });

  it('answers with what it has when a page after it does not come', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abc');
    const { source } = setting.connect();
    const faults = [
      'cut',
      'cut',
      ...Array.from({ length: 5 }, () => 'unavailable' as const),
    ] as const;
    setting.stream.faults.push(...faults);
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 10))).toBe('b');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 1)), 10))).toBe('c.');
  });

  it('waits where it is throttled, and throws a TransientFault if that does not end', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abc');
    setting.stream.faults.push('throttled', 'throttled', 'cut', 'throttled');
    const { source } = setting.connect();
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 10))).toBe('bc.');

    const hasty = setting.connect({ callsMax: 2 });
    setting.stream.faults.push('throttled', 'throttled');
    const refused = hasty.source.readAfter(SHARD, at(nth(records, 0)), 10);
    await expect(refused).rejects.toThrow(TransientFault);
    await expect(refused).rejects.toThrow(/ProvisionedThroughputExceeded/);
  });

  it('goes on from the last record when the iterator expires in the middle', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abcd');
    const { source } = setting.connect();
    setting.stream.faults.push('expired', 'cut', 'cut', 'expired');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 10))).toBe('bcd.');
    expect(setting.stream.countOf('GetShardIterator')).toBe(3);
  });

  it('reaches the tip at the end of a closed shard, again and again', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abc');
    setting.stream.isClosed = true;
    const { source } = setting.connect();
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 1))).toBe('b');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 1)), 1))).toBe('c.');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 2)), 1))).toBe('.');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 2)), 1))).toBe('.');
  });

  it('pads numbers again where the stream does, and gives them out without zeros', async () => {
    const setting = new Setting();
    setting.stream.pad = 30;
    const records = setting.stream.append(...'abc');
    const { source } = setting.connect();
    const read = await source.readAfter(SHARD, at(nth(records, 0)), 10);
    expect(shown(read)).toBe('bc.');
    expect(read).toMatchObject({
      records: [{ sequenceNumber: '1007' }, { sequenceNumber: '1014' }],
    });
  });
});

describe('records that expire', () => {
  it('a position that is gone is trimmed, never a jump to the horizon', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abcd');
    const { source } = setting.connect();
    setting.stream.horizon = 2;
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 9), records)).toBe(
      'trimmed to c',
    );
    expect(shown(await source.readAfter(SHARD, at(nth(records, 1)), 9), records)).toBe(
      'trimmed to c',
    );
    setting.stream.horizon = 4;
    expect(shown(await source.readAfter(SHARD, at(nth(records, 1)), 9), records)).toBe(
      'trimmed to null',
    );
  });

  it('a warm iterator that the horizon has overtaken is found out', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abcdef');
    const { source } = setting.connect();
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 1))).toBe('b');
    setting.passHours(24);
    setting.stream.horizon = 4;
    // It had looked one record ahead.
    expect(shown(await source.readAfter(SHARD, at(nth(records, 1)), 9))).toBe('c');
    const late = await source.readAfter(SHARD, at(nth(records, 2)), 9);
    expect(shown(late, records)).toBe('trimmed to e');
  });

  it('a warm iterator goes on among old records as long as the last one is there', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abcdef');
    const { source } = setting.connect();
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 1))).toBe('b');
    setting.passHours(24);
    expect(shown(await source.readAfter(SHARD, at(nth(records, 1)), 2))).toBe('cd');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 3)), 9))).toBe('ef.');
  });

  it('the horizon that overtakes a read between two pages cuts it there', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abcdef');
    const { source } = setting.connect();
    setting.passHours(24);
    setting.stream.faults.push('cut', 'cut', 'cut');
    setting.stream.beforeRead = () => {
      if (setting.stream.faults.length === 0) setting.stream.horizon = 5;
    };
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 9))).toBe('b');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 1)), 9), records)).toBe(
      'trimmed to f',
    );
  });

  it('a tip that the horizon has overtaken is no tip', async () => {
    const setting = new Setting();
    const records = setting.stream.append('a');
    const { source } = setting.connect();
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 9))).toBe('.');
    setting.stream.append('b');
    setting.passHours(25);
    setting.stream.horizon = 2;
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 9))).toBe('trimmed to null');
  });
});

describe('tip marks', () => {
  it('an idle shard is read on from a record that is gone while its mark is young', async () => {
    const setting = new Setting();
    const records = setting.stream.append('a');
    const last = at(nth(records, 0));
    for (let day = 0; day < 8; day++) {
      expect(await setting.connect().tips.observe(SHARD, last)).toBe('marked');
      setting.passHours(6);
      if (day === 4) setting.stream.horizon = 1;
    }
    setting.passHours(16);
    const fresh = setting.connect().source;
    expect(shown(await fresh.readAfter(SHARD, last, 9))).toBe('.');
    setting.stream.append('b', 'c');
    expect(shown(await fresh.readAfter(SHARD, last, 9))).toBe('bc.');
    expect(shown(await setting.connect().source.readAfter(SHARD, last, 1))).toBe('b');
    setting.passHours(1);
    const late = await setting.connect().source.readAfter(SHARD, last, 9);
    expect(shown(late, setting.stream.records)).toBe('trimmed to b');
  });

  it('a warm iterator does not outlive the mark that proved it', async () => {
    const setting = new Setting();
    const records = setting.stream.append('a');
    const last = at(nth(records, 0));
    setting.passHours(20);
    await setting.connect().tips.observe(SHARD, last);
    setting.stream.horizon = 1;
    const { source } = setting.connect();
    expect(shown(await source.readAfter(SHARD, last, 9))).toBe('.');
    setting.stream.append('b', 'c');
    setting.stream.horizon = 2;
    setting.passHours(24);
    expect(shown(await source.readAfter(SHARD, last, 9), setting.stream.records)).toBe(
      'trimmed to c',
    );
  });

  it('a mark of another position proves nothing', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'ab');
    await setting.connect().tips.observe(SHARD, at(nth(records, 1)));
    setting.stream.horizon = 2;
    expect(shown(await setting.connect().source.readAfter(SHARD, at(nth(records, 0)), 9))).toBe(
      'trimmed to null',
    );
  });

  it('observe writes only what it saw, and not more often than needed', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'ab');
    const [first, last] = [at(nth(records, 0)), at(nth(records, 1))];
    expect(await setting.connect().tips.observe(SHARD, first)).toBe('followed');
    expect(setting.marks.items.size).toBe(0);
    setting.stream.faults.push('cut', 'empty');
    expect(await setting.connect({ callsMax: 2 }).tips.observe(SHARD, first)).toBe('unclear');
    expect(await setting.connect().tips.observe(SHARD, last)).toBe('marked');
    const mark = { after: last, atMs: NOW_MS, keptMs: 23 * HOUR_MS, oldest: null };
    expect(await setting.marks.read(SHARD, last)).toEqual(mark);
    const callsBefore = setting.stream.calls.length;
    setting.passHours(5.9);
    expect(await setting.connect().tips.observe(SHARD, last)).toBe('known');
    expect(setting.stream.calls.length).toBe(callsBefore);
    setting.passHours(0.1);
    setting.stream.beforeRead = () => setting.passHours(0.1);
    expect(await setting.connect().tips.observe(SHARD, last)).toBe('marked');
    expect(await setting.marks.read(SHARD, last)).toMatchObject({ atMs: NOW_MS + 6 * HOUR_MS });
  });

  it('observe leaves what can no longer be proved', async () => {
    const setting = new Setting();
    const records = setting.stream.append('a');
    setting.stream.horizon = 1;
    expect(await setting.connect().tips.observe(SHARD, at(nth(records, 0)))).toBe('trimmed');
    expect(setting.marks.items.size).toBe(0);
  });
});

describe('where the pipeline begins', () => {
  it('is the oldest record when the slice is made', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'abcd');
    setting.stream.horizon = 1;
    expect(await setting.connect().directory.hashRange(SHARD)).toEqual({
      start: '0'.repeat(32),
      end: 'f'.repeat(32),
    });
    const { source, tips } = setting.connect();
    expect(shown(await source.readAfter(SHARD, START, 2))).toBe('bc');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 2)), 2))).toBe('d.');
    expect(await tips.observe(SHARD, START)).toBe('known');
    setting.stream.horizon = 2;
    expect(shown(await setting.connect().source.readAfter(SHARD, START, 9), records)).toBe(
      'trimmed to c',
    );
  });

  it('of a stream that had the name before is not that of this one', async () => {
    const setting = new Setting();
    const foreign = { after: START, atMs: NOW_MS, keptMs: 23 * HOUR_MS, oldest: '5'.repeat(56) };
    await setting.marks.ofStream('9'.repeat(16)).put(SHARD, foreign);
    const records = setting.stream.append(...'ab');
    await setting.connect().directory.hashRange(SHARD);
    expect(shown(await setting.connect().source.readAfter(SHARD, START, 9), records)).toBe('ab.');
    expect(await setting.connect().tips.observe(SHARD, START)).toBe('known');
  });

  it('is noted once', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'ab');
    await setting.connect().directory.hashRange(SHARD);
    setting.passHours(1);
    setting.stream.horizon = 1;
    await setting.connect().directory.hashRange(SHARD);
    expect(await setting.marks.read(SHARD, START)).toMatchObject({
      oldest: nth(records, 0).sequenceNumber,
    });
  });

  it('is before all records where there was none, until one of them could have expired', async () => {
    const setting = new Setting();
    const { directory, source } = setting.connect();
    await directory.hashRange(SHARD);
    expect(shown(await source.readAfter(SHARD, START, 9))).toBe('.');
    const records = setting.stream.append(...'abc');
    setting.stream.faults.push('cut', 'empty');
    expect(shown(await source.readAfter(SHARD, START, 9))).toBe('abc.');
    setting.passHours(23);
    const late = await setting.connect().source.readAfter(SHARD, START, 9);
    expect(shown(late, records)).toBe('trimmed to a');
  });

  it('stays known while a shard is idle, and becomes the first record that comes', async () => {
    const setting = new Setting();
    await setting.connect().directory.hashRange(SHARD);
    for (let count = 0; count < 6; count++) {
      setting.passHours(12);
      expect(await setting.connect().tips.observe(SHARD, START)).toBe('marked');
    }
    setting.stream.append('a');
    setting.passHours(12);
    expect(await setting.connect().tips.observe(SHARD, START)).toBe('followed');
    setting.stream.append('b');
    setting.passHours(11.9);
    expect(shown(await setting.connect().source.readAfter(SHARD, START, 9))).toBe('ab.');
    expect(await setting.connect().tips.observe(SHARD, START)).toBe('known');
  });

  it('can be a time', async () => {
    const setting = new Setting(NOW_MS + HOUR_MS);
    setting.stream.append('a');
    setting.passHours(2);
    setting.stream.append(...'bc');
    const { directory, source } = setting.connect();
    await directory.hashRange(SHARD);
    expect(shown(await source.readAfter(SHARD, START, 9))).toBe('bc.');
    expect(setting.stream.calls).toContain('GetShardIterator AT_TIMESTAMP');
  });

  it('is refused while it is yet to come', async () => {
    const setting = new Setting(NOW_MS + HOUR_MS);
    const refused = setting.connect().directory.hashRange(SHARD);
    await expect(refused).rejects.toThrow(ConfigurationFault);
    await expect(refused).rejects.toThrow('begins at 2026-01-02T04:04:05.000Z');
  });

  it('cannot be proved where nobody noted it: trimmed to the first record', async () => {
    const setting = new Setting();
    const { source } = setting.connect({ callsMax: 1 });
    expect(shown(await source.readAfter(SHARD, START, 9))).toBe('trimmed to null');
    const records = setting.stream.append(...'ab');
    expect(shown(await source.readAfter(SHARD, START, 9), records)).toBe('trimmed to a');
    setting.stream.faults.push('empty');
    expect(shown(await source.readAfter(SHARD, START, 9))).toBe('');
    expect(await setting.connect().tips.observe(SHARD, START)).toBe('trimmed');
  });

  it('is not noted before the first record is seen or the tip is reached', async () => {
    const setting = new Setting();
    setting.stream.append('a');
    setting.stream.faults.push('empty');
    const refused = setting.connect({ callsMax: 1 }).directory.hashRange(SHARD);
    await expect(refused).rejects.toThrow(TransientFault);
    expect(setting.marks.items.size).toBe(0);
  });
});

describe('what is not there', () => {
  it('a number that is none of the stream is told as such', async () => {
    const setting = new Setting();
    setting.stream.append('a');
    const foreign = { sequenceNumber: `5${'0'.repeat(55)}`, subSequence: 0 };
    const refused = setting.connect().source.readAfter(SHARD, foreign, 9);
    await expect(refused).rejects.toThrow(StreamMismatchFault);
    await expect(refused).rejects.toMatchObject({ hint: expect.stringContaining('made again') });
  });

  it.each([
    ['after the newest record', 8n],
    ['between two records', -3n],
  ])('nor is a number %s taken for trimmed, where Kinesis opens there', async (_, away) => {
    const setting = new Setting();
    setting.stream.isLenient = true;
    const records = setting.stream.append(...'abc');
    const { sequenceNumber } = nth(records, 2);
    const other = { sequenceNumber: String(BigInt(sequenceNumber) + away), subSequence: 0 };
    const refused = setting.connect().source.readAfter(SHARD, other, 9);
    await expect(refused).rejects.toThrow(StreamMismatchFault);
    await expect(refused).rejects.toThrow('the shard has older records');
    // Once all before it is gone, nobody can tell any more.
    setting.stream.horizon = 3;
    const read = await setting.connect().source.readAfter(SHARD, other, 9);
    expect(read.outcome).toBe('trimmed');
  });

  it('a shard that is gone is told as such, by a warm source too, and has no range', async () => {
    const setting = new Setting();
    const records = setting.stream.append(...'ab');
    const first = at(nth(records, 0));
    const warm = setting.connect().source;
    expect(shown(await warm.readAfter(SHARD, first, 1))).toBe('b.');
    setting.stream.isGone = true;
    const { source, directory, tips } = setting.connect();
    for (const after of [START, first, at(nth(records, 1))]) {
      expect(shown(await source.readAfter(SHARD, after, 9))).toBe('gone');
      expect(shown(await warm.readAfter(SHARD, after, 9))).toBe('gone');
      expect(await tips.observe(SHARD, after)).toBe('gone');
    }
    expect(setting.marks.items.size).toBe(0);
    await expect(directory.hashRange(SHARD)).rejects.toThrow(ConfigurationFault);
  });
});

describe('a retention that changes', () => {
  it('makes a warm cursor begin again: what it would prove stood on the one before', async () => {
    const setting = new Setting();
    setting.hours = 168;
    const { source } = setting.connect();
    const records = setting.stream.append(...'abcdef');
    expect(shown(await source.readAfter(SHARD, at(nth(records, 0)), 2), records)).toBe('bc');
    setting.hours = 24;
    setting.passHours(25);
    setting.stream.horizon = 5;
    expect(shown(await source.readAfter(SHARD, at(nth(records, 2)), 2), records)).toBe(
      'trimmed to f',
    );
  });

  it('does not make a mark prove more than it could when it was put', async () => {
    const setting = new Setting();
    const records = setting.stream.append('a');
    const first = at(nth(records, 0));
    expect(await setting.connect().tips.observe(SHARD, first)).toBe('marked');
    const later = setting.stream.append(...'bc');
    setting.passHours(30);
    setting.stream.horizon = 2;
    setting.hours = 168;
    const read = await setting.connect().source.readAfter(SHARD, first, 9);
    expect(shown(read, [...records, ...later])).toBe('trimmed to c');
  });
});
