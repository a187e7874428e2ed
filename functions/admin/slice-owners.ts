/**
 * The owners of slices, as the admin function reaches them: by asking the aggregate function, of which any environment may
 * become a slice's owner.
 */
import { type Head, parseHead } from '../../core/checkpoint/head.ts';
import { parseHeads } from '../../core/checkpoint/parse-heads.ts';
import type { CheckpointStore } from '../../core/ports.ts';
import { isLive } from '../../core/slice/topology.ts';
import type { DeliveryReport } from '../../core/task/delivery-report.ts';
import { fewAtOnce } from '../few-at-once.ts';
import type { Telemetry } from '../telemetry.ts';
import type { CheckpointedSlice } from './checkpoint-answer.ts';

export interface SliceOwnersPorts {
  /** What the aggregate function returns for an event; throws what that throws, by its name. */
  readonly aggregate: { ask(event: unknown): Promise<unknown> };
  readonly heads: CheckpointStore;
  readonly telemetry: Telemetry;
}

const ASKED_AT_ONCE = 10;

export class SliceOwners {
  readonly #ports: SliceOwnersPorts;

  constructor(ports: SliceOwnersPorts) {
    this.#ports = ports;
  }

  /** Has every slice complete an epoch with a base. Throws the first failure, when all have been tried. */
  async checkpoint(): Promise<CheckpointedSlice[]> {
    const { heads, failures } = parseHeads(await this.#ports.heads.listHeads());
    const results = await fewAtOnce(heads.filter(isLive), ASKED_AT_ONCE, (head) =>
      this.#checkpoint(head),
    );
    const done = results.flatMap((result) => {
      if (result.status === 'fulfilled') return [result.value];
      failures.push(result.reason);
      return [];
    });
    if (failures.length > 0) throw failures[0];
    return done;
  }

  /** Has a slice look into its inbox. What its owner throws is logged: the request stays, and the next tick comes to it. */
  async tick(sliceId: string): Promise<void> {
    const { heads, aggregate, telemetry } = this.#ports;
    const item = await heads.readHead(sliceId);
    if (item === null) return;
    const { shardId } = parseHead(item);
    try {
      await aggregate.ask({ tidemark: 'tick', shardId });
    } catch (error) {
      telemetry.failure('a tick failed', error, { sliceId, shardId });
    }
  }

  async #checkpoint({ sliceId, shardId }: Head): Promise<CheckpointedSlice> {
    const answer = await this.#ports.aggregate.ask({ tidemark: 'checkpoint', shardId });
    const [report] = answer as DeliveryReport[];
    return { id: sliceId, shardId, epoch: report?.epoch ?? 0 };
  }
}
