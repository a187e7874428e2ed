/**
 * What an image must know of a stored change before it reads it, and how much of it is taken.
 */
import { ByteReader } from '../bytes.ts';
import type { ChangeTail, TailCoverage } from './change-tail.ts';
import { ID_BYTES } from './dedupe-ids.ts';
import type { ChangeVisitor } from './state-change.ts';

/** Which plan and epoch a change is of. */
export interface ChangeOrigin {
  /** Another plan than the image's. */
  readonly foreign: boolean;
  readonly epoch: number;
  /** Of a merged change: what follows it, each by itself. */
  readonly tails?: readonly ChangeTail[];
  readonly covered?: TailCoverage;
  /** Only where the change leads counts, not what it holds: the image begins with it as an overlay. */
  readonly begins?: boolean;
}

export const OWN_PLAN: ChangeOrigin = { foreign: false, epoch: 0 };

const NO_IDS = Uint8Array.of(0);

/** A visitor of where a change leads: passes over entries, ids and quarantined records. */
export function standingOnly(visitor: ChangeVisitor): ChangeVisitor {
  return {
    progress: (progress) => visitor.progress(progress),
    views: (stored) => visitor.views(stored),
    entry: (_view, _section, _windowStartMs, _key, ahead) => {
      ahead.bytes();
    },
    dedupe: (life, ids) => {
      visitor.dedupe(life, new ByteReader(NO_IDS));
      ids.raw(ids.varint() * ID_BYTES);
    },
    quarantined: () => {},
  };
}
