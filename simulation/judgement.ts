/**
 * What an invocation may throw, and when: a fault is excused by what happened to that invocation, not by what happens somewhere.
 */
import { MissingBlob } from '../core/checkpoint/blobs.ts';
import {
  BehindFault,
  CorruptStateFault,
  HeldFault,
  ReplayGapFault,
  TransientFault,
} from '../core/faults.ts';
import { DEFAULT_KNOBS } from '../core/knobs.ts';
import type { ThrownFault } from './lambda-environment.ts';
import type { Scenario } from './scenario.ts';

export interface Circumstances {
  /** How long an epoch stays readable at least. */
  readonly keptMs: number;
  /** Records that the slice needs are gone. */
  readonly isGapped: boolean;
  /** Records of the shard were trimmed while the invocation ran. */
  readonly sawTrim: boolean;
  /** Another plan was activated at some time: code of the one before may be asked still. */
  readonly plansChanged: boolean;
}

export function isExcused(
  { fault, asked, tookMs, sawGarbled }: ThrownFault,
  { keptMs, isGapped, sawTrim, plansChanged }: Circumstances,
): boolean {
  if (fault instanceof TransientFault || fault instanceof BehindFault) return true;
  // Nobody but a person who asks for a base is told to wait, and code whose plan is no longer active.
  if (fault instanceof HeldFault) {
    const isBacklog = fault.message.includes('waits for its recovery');
    return asked === 'checkpoint' || plansChanged || isBacklog;
  }
  if (fault instanceof ReplayGapFault) return isGapped || sawTrim;
  if (fault instanceof MissingBlob && tookMs > keptMs) return true;
  return fault instanceof CorruptStateFault && (sawGarbled || (isGapped && asked !== 'deliver'));
}

/** How long an epoch stays readable at least, whatever the clocks say. */
export function keptMsOf({ knobs, clockSkewMsMax, incidents }: Scenario): number {
  const graceMs = knobs.retentionGraceMs ?? DEFAULT_KNOBS.retentionGraceMs;
  return graceMs - 2 * clockSkewMsMax - jumpsMsOf({ incidents });
}

/** How far jumps put two clocks apart at most. */
export function jumpsMsOf({ incidents }: Pick<Scenario, 'incidents'>): number {
  const jumpsMs = incidents.reduce(
    (sum, incident) => sum + (incident.kind === 'clock-jump' ? Math.abs(incident.byMs) : 0),
    0,
  );
  return 2 * jumpsMs;
}
