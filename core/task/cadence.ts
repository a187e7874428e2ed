/**
 * When an invocation completes an epoch, and when it only answers for what it folded, which is then in memory and in the
 * stream, not in a checkpoint, until an owner saves it: the one place where that is decided, for batches and for ticks.
 *
 *   recovering   redriven   unsaved   and besides                                             →
 *   yes          any        any                                                               checkpoint  (only an epoch brings it forward)
 *   no           yes        any                                                               checkpoint  (no replay would bring it back)
 *   no           no         no                                                                nothing
 *   no           no         yes       the last epoch is as old as unsaved records may be      checkpoint
 *   no           no         yes       a batch: its memory holds as much as may be unsaved     checkpoint
 *   no           no         yes       a tick: this invocation has completed an epoch          checkpoint
 *   no           no         yes       none of these, and HEAD does not answer for all of it   deliver
 *   no           no         yes       none of these, and it does                              nothing
 *
 * A checkpoint that is asked for, the chunks of a replay and a change of plan are epochs whatever their cost.
 */
import type { Head } from '../checkpoint/head.ts';
import { mayHavePassed } from '../elapsed.ts';
import type { Knobs } from '../knobs.ts';
import { UNSAVED_BYTES_MAX } from '../limits.ts';
import { comparePositions, type Position } from '../position.ts';
import { isRecovering } from '../slice/topology.ts';

export interface CadenceFacts {
  readonly occasion: 'batch' | 'tick';
  readonly head: Pick<Head, 'status' | 'cursor' | 'delivered' | 'committedMs'>;
  readonly nowMs: number;
  /** The memory's; where there is none yet, HEAD's `delivered`, up to which one would replay. */
  readonly position: Position;
  /** Memory that the unsaved changes hold. */
  readonly unsavedBytes: number;
  /** A redrive has brought records back that no epoch holds, or found them brought back. */
  readonly hasRedriven: boolean;
  /** This invocation has completed an epoch: a replay in chunks made HEAD look young, and the rest is as old as what it began with. */
  readonly hasCommitted: boolean;
}

export type CadenceDecision = 'checkpoint' | 'deliver' | 'nothing';

export function decideCadence(facts: CadenceFacts, { unsavedAgeMsMax }: Knobs): CadenceDecision {
  const { occasion, head, position } = facts;
  if (isRecovering(head) || facts.hasRedriven) return 'checkpoint';
  if (comparePositions(position, head.cursor) <= 0) return 'nothing';
  // By its writer's clock: everything that is unsaved is younger.
  if (mayHavePassed(head.committedMs, unsavedAgeMsMax, facts.nowMs)) return 'checkpoint';
  const isDue = occasion === 'batch' ? facts.unsavedBytes >= UNSAVED_BYTES_MAX : facts.hasCommitted;
  if (isDue) return 'checkpoint';
  return comparePositions(position, head.delivered) > 0 ? 'deliver' : 'nothing';
}
