import type { TipMark, TipMarks } from '../../adapters/aws/kinesis/tip-marks.ts';
import { STREAM_ID } from '../../adapters/memory/memory-ports.ts';
import type { Creation } from '../../core/ports.ts';
import { comparePositions, type Position, START } from '../../core/position.ts';

/** Tip marks that end with their process. */
export class MemoryTipMarks implements TipMarks {
  readonly items: Map<string, TipMark>;
  readonly #streamId: string;

  constructor(streamId = STREAM_ID, items = new Map<string, TipMark>()) {
    this.#streamId = streamId;
    this.items = items;
  }

  /** The same table, as the pipeline reaches it once its stream was made again. */
  ofStream(streamId: string): MemoryTipMarks {
    return new MemoryTipMarks(streamId, this.items);
  }

  async read(shardId: string, after: Position): Promise<TipMark | null> {
    const mark = this.items.get(this.#keyOf(shardId, after));
    return mark?.after.sequenceNumber === after.sequenceNumber ? mark : null;
  }

  async put(shardId: string, mark: TipMark): Promise<void> {
    const key = this.#keyOf(shardId, mark.after);
    const current = this.items.get(key);
    if (current === undefined || current.atMs < mark.atMs) this.items.set(key, mark);
  }

  async create(shardId: string, mark: TipMark): Promise<Creation> {
    const key = this.#keyOf(shardId, mark.after);
    if (this.items.has(key)) return 'exists';
    this.items.set(key, mark);
    return 'created';
  }

  #keyOf(shardId: string, after: Position): string {
    return `${shardId}/${comparePositions(after, START) === 0 ? 'start' : 'last'}/${this.#streamId}`;
  }
}
