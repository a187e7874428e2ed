/**
 * When an invocation completes an epoch, and when it only answers for its batch: what it folded is then in memory and in the
 * stream, not in a checkpoint, until an owner saves it.
 */
import { mayHavePassed } from '../elapsed.ts';
import type { Knobs } from '../knobs.ts';
import { UNSAVED_BYTES_MAX } from '../limits.ts';

export interface UnsavedFacts {
  /** Of HEAD's last epoch, by its writer's clock: everything unsaved is younger. */
  readonly committedMs: number;
  readonly nowMs: number;
  /** Memory that the unsaved changes hold. */
  readonly unsavedBytes: number;
  /** The slice is being recovered: only an epoch brings it forward. */
  readonly isRecovering: boolean;
}

export type AnswerDecision = 'checkpoint' | 'deliver';

export function decideAnswer(facts: UnsavedFacts, { unsavedAgeMsMax }: Knobs): AnswerDecision {
  if (facts.isRecovering || facts.unsavedBytes >= UNSAVED_BYTES_MAX) return 'checkpoint';
  const isDue = mayHavePassed(facts.committedMs, unsavedAgeMsMax, facts.nowMs);
  return isDue ? 'checkpoint' : 'deliver';
}
