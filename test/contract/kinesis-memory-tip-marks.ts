import type { TipMark, TipMarks } from '../../adapters/aws/kinesis/tip-marks.ts';
import type { Creation } from '../../core/ports.ts';
import { comparePositions, type Position, START } from '../../core/position.ts';

/** Tip marks that end with their process. */
export class MemoryTipMarks implements TipMarks {
  readonly items = new Map<string, TipMark>();

  async read(shardId: string, after: Position): Promise<TipMark | null> {
    const mark = this.items.get(keyOf(shardId, after));
    return mark?.after.sequenceNumber === after.sequenceNumber ? mark : null;
  }

  async put(shardId: string, mark: TipMark): Promise<void> {
    const key = keyOf(shardId, mark.after);
    const current = this.items.get(key);
    if (current === undefined || current.atMs < mark.atMs) this.items.set(key, mark);
  }

  async create(shardId: string, mark: TipMark): Promise<Creation> {
    const key = keyOf(shardId, mark.after);
    if (this.items.has(key)) return 'exists';
    this.items.set(key, mark);
    return 'created';
  }
}

function keyOf(shardId: string, after: Position): string {
  return `${shardId}/${comparePositions(after, START) === 0 ? 'start' : 'last'}`;
}
