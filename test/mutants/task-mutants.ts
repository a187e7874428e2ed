/**
 * Faults of an owner's work: gaps, cadence, recovery, redrives, records that harm, changes of plan.
 */
import {
  CONTENTION,
  GAP_AFTER_REWIND,
  GAP_AFTER_SILENCE,
  GAP_IN_A_LOST_RACE,
  GAP_IN_PARTS,
  KILLERS_BEHIND_A_REPLAY,
  RECOVERY_WITHOUT_OWNER,
  REDRIVES_AND_AGAIN,
  REDRIVES_THAT_KILL,
  ROLLBACK_AFTER_BASES,
} from '../sim/fixed-scenarios.ts';
import { type Mutant, mutant } from './mutant.ts';

export const TASK_MUTANTS: readonly Mutant[] = [
  {
    ...mutant(
      'no gap is looked for after a rewind',
      'wrong state',
      'core/task/slice-memory.ts',
      "    return { outcome: 'reached', memory, restored: true, rewoundTo: epoch };",
      "    memory.followsSource = true;\n    return { outcome: 'reached', memory, restored: true, rewoundTo: epoch };",
    ),
    scenario: GAP_AFTER_REWIND,
  },
  {
    ...mutant(
      'no gap is looked for after a restore',
      'wrong state',
      'core/task/slice-memory.ts',
      'next.followsSource = (memory?.followsSource ?? false) && !restored;',
      'next.followsSource = true;',
    ),
    scenario: GAP_IN_A_LOST_RACE,
  },
  {
    ...mutant(
      'no gap is looked for after a silence',
      'wrong state',
      'core/task/catch-up.ts',
      'const follows = memory.followsSource && !closesGap && !isAfterSilence;',
      'const follows = memory.followsSource && (!closesGap || isAfterSilence);',
    ),
    scenario: GAP_AFTER_SILENCE,
  },
  {
    ...mutant(
      'a gap counts as followed before it is committed',
      'wrong state',
      'core/task/slice-task.ts',
      'const step = await this.#committer.answer(memory, report);',
      'memory.followsSource = true;\n        const step = await this.#committer.answer(memory, report);',
    ),
    scenario: GAP_IN_A_LOST_RACE,
  },
  {
    ...mutant(
      'a gap is closed by its first chunk',
      'wrong state',
      'core/task/catch-up.ts',
      'if (reachedFirst) break;',
      'if (reachedFirst || between.length > 0) break;',
    ),
    scenario: GAP_IN_PARTS,
  },
  mutant(
    'with no unsaved age allowed, some batches are only answered for',
    'answered without a checkpoint|stale',
    'core/task/cadence.ts',
    "return isDue ? 'checkpoint' : 'deliver';",
    "return isDue && facts.nowMs > facts.committedMs ? 'checkpoint' : 'deliver';",
  ),
  mutant(
    'a tick does not save what has waited too long',
    'stale|stuck',
    'core/task/slice-task.ts',
    'return !isSaved && mayHavePassed(head.committedMs, knobs.unsavedAgeMsMax, clock.nowMs());',
    'return !isSaved && mayHavePassed(head.committedMs, 1e15, clock.nowMs());',
  ),
  mutant(
    'an empty read makes the backlog of a recovery young',
    'answered for a backlog that is too old',
    'core/task/committer.ts',
    "if (answer.outcome === 'records' && oldest === undefined) {",
    "if (answer.outcome === 'records' && oldest === undefined) return;\n    if (false) {",
  ),
  {
    ...mutant(
      'deliveries to a slice in recovery are answered for, however old its backlog',
      'answered for a backlog that is too old',
      'core/task/committer.ts',
      'isSurelyYoung(oldest.arrivalMs, recoveryBacklogMsMax, nowMs)',
      'nowMs > recoveryBacklogMsMax',
    ),
    scenario: RECOVERY_WITHOUT_OWNER,
  },
  mutant(
    'an abandoned recovery is taken over by nobody',
    'stuck|no answer',
    'core/task/slice-task.ts',
    'return mayHavePassed(head.committedMs, knobs.recoveryLeaseMs, clock.nowMs());',
    'return mayHavePassed(head.committedMs, 1e15, clock.nowMs());',
  ),
  mutant(
    'a record that kills is never quarantined',
    'a record goes on killing|no end|stuck',
    'core/task/suspicion.ts',
    'const condemned = chunkRecords === 1 && deaths >= DEATHS_OF_ONE_RECORD;',
    'const condemned = chunkRecords === 0 && deaths >= DEATHS_OF_ONE_RECORD;',
  ),
  {
    ...mutant(
      'a death is noted where no owner restores',
      'a record goes on killing|no end|stuck|no answer',
      'core/task/catch-up.ts',
      'if (guard.chunkRecords !== null && !isCommitted) {',
      'if (folded > 0 && guard.chunkRecords !== null && !isCommitted) {',
    ),
    scenario: KILLERS_BEHIND_A_REPLAY,
  },
  mutant(
    'the first death puts a record aside',
    'sound records were quarantined',
    'core/task/suspicion.ts',
    'const condemned = chunkRecords === 1 && deaths >= DEATHS_OF_ONE_RECORD;',
    'const condemned = deaths >= 1;',
  ),
  {
    ...mutant(
      'no delivery holds back for what takes longer',
      'TransientFault',
      'core/task/head-hold.ts',
      'if (hold === null || hold === this.#mine || hold === this.#spent) return head;',
      'if (waitedMs >= 0 || hold === this.#mine) return head;',
    ),
    scenario: CONTENTION,
  },
  mutant(
    'a recovery answers and completes no epoch',
    'InvariantFault',
    'core/task/cadence.ts',
    'if (facts.isRecovering || ',
    'if (',
  ),
  mutant(
    'a record that throws is not remembered',
    'stuck|no end|no answer',
    'core/task/fold-guard.ts',
    'this.#failed.set(sortablePosition(failure.position), failure);',
    'this.#failed.size;',
  ),
  mutant(
    'a record that throws takes its whole batch with it',
    'a sound record was refused',
    'core/task/fold-guard.ts',
    'if (failed === undefined) return null;',
    "if (failed === undefined) return { reason: 'fold-failed', detail: 'with another' };",
  ),
  {
    ...mutant(
      'a redrive that kills is begun again and again',
      'a record goes on killing|no answer|no end|stuck',
      'core/task/redrive.ts',
      'beginnings > REDRIVE_BEGINNINGS_MAX',
      'beginnings > 1e6',
    ),
    scenario: REDRIVES_THAT_KILL,
  },
  mutant(
    'what a timeline before this one redrove is not done again',
    'wrong request|wrong state|no answer: requests',
    'core/task/redrive.ts',
    'if (done === null || done.timeline !== head.timeline) open.push(request);',
    'if (done === null) open.push(request);',
  ),
  mutant(
    'a tick does not look into the inbox',
    'no answer',
    'core/task/slice-task.ts',
    'return open.length > 0 || this.#isUnsavedTooLong(head);',
    'return this.#isUnsavedTooLong(head);',
  ),
  {
    ...mutant(
      'the id of a redriven record is not kept',
      'wrong state',
      'core/state/fold.ts',
      "if (outcome === 'folded') this.#keepId(timeMs, overlay);",
      "if (outcome !== 'folded') this.#keepId(timeMs, overlay);",
    ),
    scenario: REDRIVES_AND_AGAIN,
  },
  {
    ...mutant(
      'a redrive moves the watermark',
      'wrong state',
      'core/state/fold.ts',
      'progress.newestMs = Math.max(progress.newestMs, boundedMs);',
      'progress.newestMs = Math.max(progress.newestMs, boundedMs);\n      progress.watermarkMs = Math.max(progress.watermarkMs, progress.newestMs);',
    ),
    scenario: REDRIVES_AND_AGAIN,
  },
  mutant(
    'a partly folded record counts as redriven whole',
    'wrong state',
    'core/state/fold.ts',
    'if (counted) {\n      progress.counts.quarantined--;',
    'if (waiting.length > 0) {\n      progress.counts.quarantined--;',
  ),
  mutant(
    'the ledger in runs is read without its views',
    'wrong request|wrong answer|wrong state',
    'core/state/quarantine-ledger.ts',
    'to[to.length - 1] = 6;',
    'to[to.length - 1] = 2;',
  ),
  mutant(
    'an id is kept by the time of its record, not by the watermark',
    'wrong state',
    'core/state/fold.ts',
    'const countedFromMs = Math.max(timeMs, watermarkMs);',
    'const countedFromMs = Math.min(timeMs, watermarkMs);',
  ),
  {
    ...mutant(
      'code of a plan that is not active goes on',
      'wrong state|a rollback lost what came since|wrong answer|no end|stuck|unreadable state|InvariantFault',
      'core/task/plan-change.ts',
      'if (active.hash !== planHash || active.ordinal <= head.planOrdinal) {',
      'if (active.ordinal < head.planOrdinal) {',
    ),
    scenario: ROLLBACK_AFTER_BASES,
  },
  mutant(
    'a clock that was set back makes everything unsaved look young',
    'answered without a checkpoint|stale|stuck|no end',
    'core/elapsed.ts',
    'return Math.abs(nowMs - sinceMs) >= periodMs;',
    'return nowMs - sinceMs >= periodMs;',
  ),
  {
    ...mutant(
      'a gap that was closed in part is taken for followed',
      'wrong state',
      'core/task/catch-up.ts',
      '!closesGap && ',
      '',
    ),
    scenario: GAP_IN_PARTS,
  },
];
