/**
 * Keeps the tip marks: where the pipeline begins in a shard, when its slice is made, and the end of a shard that is silent for
 * so long that the last record may expire before another comes.
 */
import { mayHavePassed } from '../../../core/elapsed.ts';
import { TransientFault } from '../../../core/faults.ts';
import type { Clock } from '../../../core/ports.ts';
import { comparePositions, type Position, START } from '../../../core/position.ts';
import type { KinesisRecordSource } from './kinesis-record-source.ts';
import type { Retention } from './stream-summary.ts';
import { surelyKeptMs, type TipMarks } from './tip-marks.ts';

export type Observation =
  /** The mark is young enough, or speaks of a record that is there. */
  | 'known'
  /** A new mark was written. */
  | 'marked'
  /** Something follows: it will be delivered, and needs no mark. */
  | 'followed'
  /** The tip was not reached now. */
  | 'unclear'
  /** What follows can no longer be proved: the next record that comes will be taken for a gap. */
  | 'trimmed'
  /** The shard closed so long ago that the stream no longer has it: nothing will follow. */
  | 'gone';

export interface KinesisTipsOptions {
  readonly source: KinesisRecordSource;
  readonly marks: TipMarks;
  readonly retention: Retention;
  readonly clock: Clock;
}

/** A mark is renewed after this share of the retention: three more may fail. */
const RENEWAL_SHARE = 1 / 4;

export class KinesisTips {
  readonly #options: KinesisTipsOptions;

  constructor(options: KinesisTipsOptions) {
    this.#options = options;
  }

  /** Notes where the pipeline begins in a shard, once: a later call changes nothing. */
  async begin(shardId: string): Promise<void> {
    const { source, marks, clock, retention } = this.#options;
    const keptMs = surelyKeptMs(await retention.hours());
    const atMs = clock.nowMs();
    const { first, reachedTip } = await source.readFirst(shardId);
    if (first === null && !reachedTip) {
      throw new TransientFault(`${shardId} does not show its first record yet`, {
        hint: 'the shard is long and its begin is empty, or others read it too; it comes again',
      });
    }
    const oldest = first?.sequenceNumber ?? null;
    await marks.create(shardId, { after: START, atMs, keptMs, oldest });
  }

  /** Notes that nothing follows `delivered`, if that is so and was not noted lately. */
  async observe(shardId: string, delivered: Position): Promise<Observation> {
    const { source, marks, clock, retention } = this.#options;
    const isStart = comparePositions(delivered, START) === 0;
    const mark = await marks.read(shardId, delivered);
    const hours = await retention.hours();
    const keptMs = surelyKeptMs(hours);
    const renewAfterMs = hours * 60 * 60_000 * RENEWAL_SHARE;
    const atMs = clock.nowMs();
    const isYoung = mark !== null && !mayHavePassed(mark.atMs, renewAfterMs, atMs);
    if (mark !== null && (mark.oldest !== null || isYoung)) return 'known';
    const read = await source.readAfter(shardId, delivered, 1);
    if (read.outcome !== 'records') return read.outcome;
    const [first] = read.records;
    if (first === undefined && !read.reachedTip) return 'unclear';
    if (first !== undefined && !isStart) return 'followed';
    const oldest = first?.sequenceNumber ?? null;
    await marks.put(shardId, { after: delivered, atMs, keptMs, oldest });
    return first === undefined ? 'marked' : 'followed';
  }
}
