/**
 * What an invocation may throw, and when: a fault is excused by what happened to that invocation, not by what happens somewhere.
 */
import { MissingBlob } from '../core/checkpoint/blobs.ts';
import {
  BehindFault,
  CorruptStateFault,
  HeldFault,
  RacesLostFault,
  ReplayGapFault,
  TransientFault,
} from '../core/faults.ts';
import { DEFAULT_KNOBS } from '../core/knobs.ts';
import { HOLD_MS_MAX } from '../core/limits.ts';
import type { ThrownFault } from './lambda-environment.ts';
import type { CallFaultKind, Incident, Scenario } from './scenario.ts';

export interface Circumstances {
  /** How long an epoch stays readable at least. */
  readonly keptMs: number;
  /** Records that the slice needs are gone. */
  readonly isGapped: boolean;
  /** Records of the shard were trimmed while the invocation ran. */
  readonly sawTrim: boolean;
  /** Another plan was activated at some time: code of the one before may be asked still. */
  readonly plansChanged: boolean;
  /** Nothing but other invocations comes between an invocation and its commit. */
  readonly isFair: boolean;
}

export function isExcused(
  { fault, asked, tookMs, sawGarbled }: ThrownFault,
  { keptMs, isGapped, sawTrim, plansChanged, isFair }: Circumstances,
): boolean {
  // What takes longer than a delivery asks deliveries to hold back.
  if (fault instanceof RacesLostFault) return !(isFair && asked !== 'deliver');
  if (fault instanceof TransientFault || fault instanceof BehindFault) return true;
  // Only a person who asks for a base is told to wait, and code whose plan is no longer active.
  if (fault instanceof HeldFault) {
    const isBacklog = fault.message.includes('waits for its recovery');
    const isFencedOff = asked === 'recover' && fault.message.includes('has fenced off');
    return asked === 'checkpoint' || plansChanged || isBacklog || isFencedOff;
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

/** How long a rollback goes on from where its plan was left, whatever the clocks say; what comes garbled twice is taken for damaged. */
export function rollbackMsMinOf(scenario: Scenario): number {
  if (scenario.callFaults.some(({ kind }) => kind === 'garbled')) return Number.NEGATIVE_INFINITY;
  const { rollbackGraceMs } = { ...DEFAULT_KNOBS, ...scenario.knobs };
  return rollbackGraceMs - 2 * scenario.clockSkewMsMax - jumpsMsOf(scenario);
}

/** How far jumps put two clocks apart at most. */
function jumpsMsOf({ incidents }: Pick<Scenario, 'incidents'>): number {
  const jumpsMs = incidents.reduce(
    (sum, incident) => sum + (incident.kind === 'clock-jump' ? Math.abs(incident.byMs) : 0),
    0,
  );
  return 2 * jumpsMs;
}

/** Age of the oldest record that a recovery has yet to replay, up to which deliveries to others may be answered for. */
export function backlogMsMaxOf(scenario: Scenario): number {
  const { recoveryBacklogMsMax } = { ...DEFAULT_KNOBS, ...scenario.knobs };
  const clockErrorMs = 2 * scenario.clockSkewMsMax + jumpsMsOf(scenario);
  return recoveryBacklogMsMax + clockErrorMs + lateMsMaxOf(scenario);
}

/** How long after a process has decided to write, what it writes may arrive. */
function lateMsMaxOf({ callFaults, zombieRate, functionTimeoutMs }: Scenario): number {
  const isLate = callFaults.some(({ kind }) => LATE.has(kind));
  return (isLate || zombieRate > 0 ? LATE_MS_MAX : 0) + functionTimeoutMs;
}

const LATE: ReadonlySet<CallFaultKind> = new Set(['slow', 'applied-late', 'freeze', 'answer-lost']);
/** Longer than a zombie stands still, and than any call takes. */
const LATE_MS_MAX = 2_400_000;

/** True if nothing but the invocations of one mapping, ticks and people come between, each of them quick against a hold. */
export function isFairOf(scenario: Scenario): boolean {
  const { callFaults, zombieRate, mappings, harmful, knobs, foldMs, baseMs, delayMsMax } = scenario;
  const attemptsMax = knobs.headWriteAttemptsMax ?? DEFAULT_KNOBS.headWriteAttemptsMax;
  return (
    callFaults.length === 0 &&
    zombieRate === 0 &&
    mappings === 1 &&
    harmful.length === 0 &&
    scenario.incidents.every(({ kind }) => FAIR.has(kind)) &&
    foldMs === 0 &&
    baseMs + 10 * delayMsMax <= HOLD_MS_MAX / 2 &&
    attemptsMax >= DEFAULT_KNOBS.headWriteAttemptsMax
  );
}

const FAIR: ReadonlySet<Incident['kind']> = new Set(['checkpoint', 'recover', 'redrive', 'trim']);

/** Where an environment ends well and cannot take back its note, it looks as if it had died. */
export function leavesNotes({ callFaults, incidents }: Scenario): boolean {
  return (
    callFaults.some(({ call }) => 'suspicions.write'.startsWith(call)) ||
    incidents.some((incident) => incident.kind === 'partition' && incident.port === '')
  );
}

/** Within so long of its arrival a record is in a checkpoint, once nothing goes wrong any more. */
export function freshMsMaxOf(scenario: Scenario): number {
  const { knobs, tickEveryMs, batchWindowMs } = scenario;
  const unsavedMs = knobs.unsavedAgeMsMax ?? DEFAULT_KNOBS.unsavedAgeMsMax;
  // A clock that was set back makes it twice as long at most.
  return batchWindowMs + 2 * unsavedMs + 2 * tickEveryMs + INVOCATIONS_MS + hangingMsMax(scenario);
}

/** A tick whose call was cut off before may wait for its answer, and those of all other slices with it. */
function hangingMsMax({ callFaults, incidents, functionTimeoutMs }: Scenario): number {
  const hangs =
    incidents.some(({ kind }) => kind === 'partition') ||
    callFaults.some(({ kind }) => HANGING.has(kind));
  return hangs ? functionTimeoutMs : 0;
}

const HANGING: ReadonlySet<CallFaultKind> = new Set([
  'slow',
  'request-lost',
  'answer-lost',
  'applied-late',
]);

/** For a few invocations, of which some may lose their race. */
const INVOCATIONS_MS = 30_000;
