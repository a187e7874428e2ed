/**
 * A run that was merged from others outside a commit: an orphan until a base lists it in place of those, which it does only
 * where nothing has changed that the merge stands on. Until then, and for good where that is never, readers read the others.
 */
import { sameLives } from '../state/view-life.ts';
import type { Head } from './head.ts';
import type { RunReference } from './manifest.ts';
import { sameBlob } from './names.ts';
import type { LivingView } from './run-index.ts';

export interface MergedRun {
  readonly run: RunReference;
  readonly absorbed: readonly RunReference[];
  /** The views whose entries it has: it was left out what another plan may still want. */
  readonly living: readonly LivingView[];
}

/** What a merge stands on, as a commit finds it. */
export interface MergeGround {
  readonly head: Pick<Head, 'collectBelow'>;
  readonly runs: readonly RunReference[];
  readonly living: readonly LivingView[];
}

/**
 * True if the run may stand for those that it absorbed: all are listed still, the views are the same in the same lives, and no
 * floor has passed the epoch in its name, from which on anyone may have deleted it.
 */
export function isAdoptable(
  {
    run,
    absorbed,
    living,
  }: Pick<MergedRun, 'absorbed' | 'living'> & {
    readonly run: Pick<RunReference, 'epoch'>;
  },
  ground: MergeGround,
): boolean {
  return (
    run.epoch >= ground.head.collectBelow &&
    absorbed.every((old) => ground.runs.some((listed) => sameBlob(listed, old))) &&
    isSameLiving(living, ground.living)
  );
}

/** The runs with the merged one in place of those that it absorbed. */
export function adopt(
  { run, absorbed }: MergedRun,
  runs: readonly RunReference[],
): readonly RunReference[] {
  return [...runs.filter((old) => !absorbed.some((gone) => sameBlob(gone, old))), run];
}

function isSameLiving(a: readonly LivingView[], b: readonly LivingView[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ view, life }, index) => {
      const other = b[index];
      return other !== undefined && view === other.view && sameLives(life, other.life);
    })
  );
}
