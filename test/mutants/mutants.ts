/**
 * Small, plausible faults of the protocol and its adapters, each as a replacement of source text. What the simulation does
 * not find in them it would not find in the product either: docs/testing.md has the table.
 */

import type { Scenario } from '../../simulation/scenario.ts';
import { GAP_IN_PARTS } from '../sim/fixed-scenarios.ts';

export interface Edit {
  /** From the root of the project. */
  readonly file: string;
  /** Stands there exactly once. */
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** What is fixed of the scenario that each seed draws: the fault needs what drawn ones seldom have. */
  readonly scenario?: Partial<Scenario>;
}

/** To see that it is the mutants that fail. */
const SOUND: Mutant = { name: 'nothing is changed', edits: [] };

const one = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  edits: [{ file, find, replace }],
});

export const MUTANTS: readonly Mutant[] = [
  one(
    'HEAD is written without the condition on its revision',
    'adapters/memory/memory-checkpoint-store.ts',
    'current.revision === ifRevision &&',
    '',
  ),
  one(
    'records up to `delivered` are dropped, not those up to the position',
    'core/task/catch-up.ts',
    'comparePositions(record, state.position) > 0);\n    let folded',
    'comparePositions(record, memory.head.delivered) > 0);\n    let folded',
  ),
  one(
    'what was delivered and not saved is not replayed',
    'core/task/catch-up.ts',
    'while (comparePositions(state.position, memory.head.delivered) < 0) {',
    'while (state.position.sequenceNumber === "none") {',
  ),
  one(
    'the delta is not awaited before HEAD flips',
    'core/checkpoint/blobs.ts',
    'const creation = await storeOf(stores, place).create(key, bytes);',
    "const creation = await Promise.race([storeOf(stores, place).create(key, bytes).catch(() => 'created'), Promise.resolve('created')]);",
  ),
  one(
    'quarantined records are not part of the delta that moves the cursor past them',
    'core/state/slice-state.ts',
    'quarantined: overlay.quarantined,',
    'quarantined: [],',
  ),
  one(
    'deltas carry increments, not absolute values',
    'core/state/fold.ts',
    'if (committedSlot >= 0) table.copyFrom(slot, committed, committedSlot);',
    '',
  ),
  one(
    'sequence numbers are compared as doubles',
    'core/position.ts',
    'if (a.length !== b.length) return a.length - b.length;\n  return a < b ? -1 : a > b ? 1 : 0;',
    'return Number(a) - Number(b);',
  ),
  one(
    'sequence numbers are compared as text',
    'core/position.ts',
    'if (a.length !== b.length) return a.length - b.length;',
    '',
  ),
  one(
    'a write whose answer was lost is taken for a lost race',
    'core/checkpoint/head-write.ts',
    "if (current?.nonce === after.nonce) return { outcome: 'applied', head: after };",
    '',
  ),
  one(
    'retention deletes the base that is in use',
    'core/checkpoint/collect.ts',
    'isCollectable(name, head.collectBelow, manifest)',
    'isCollectable(name, head.epoch + 1, manifest)',
  ),
  one(
    'retention keeps no older base',
    'core/checkpoint/collect.ts',
    'isCollectable(name, head.collectBelow, manifest)',
    'isCollectable(name, head.epoch, manifest)',
  ),
  one(
    'a late partial takes the place of the stored result',
    'core/state/closed-entries.ts',
    'merged.push(to - from === 1 ? first : mergePartials(view, sorted.slice(from, to)));',
    'merged.push(sorted[to - 1] as ClosedEntry);',
  ),
  one(
    'a fallback uses the number of an epoch again',
    'core/checkpoint/rewind.ts',
    'const epoch = head.epoch + 1;',
    'const epoch = (chain.at(-1)?.epoch ?? 0) + 1;',
  ),
  one(
    'a stale memory writes its chain back after another owner moved on',
    'core/task/slice-memory.ts',
    'isSameEpoch(memory.head, head)) {',
    'memory.head.timeline === head.timeline) {',
  ),
  one(
    'a reader takes results that are newer than its snapshot',
    'core/query/slice-reader.ts',
    'return sameBlob(known, delta) ? this.#snapshot.checkpoint : null;',
    'return this.#snapshot.checkpoint;',
  ),
  one(
    'a heartbeat counts without the idle bound',
    'core/state/fold.ts',
    'record.arrivalMs - latenessMs - idleMs',
    'record.arrivalMs - latenessMs',
  ),
  one(
    'the watermark follows arrivals, not event times',
    'core/state/fold.ts',
    'Math.max(progress.watermarkMs, timeMs - this.#plan.latenessMs)',
    'Math.max(progress.watermarkMs, record.arrivalMs - this.#plan.latenessMs)',
  ),
  one(
    'the results of a closed window are emitted twice',
    'core/state/slice-state.ts',
    'image.addClosed(index, closed);',
    'image.addClosed(index, closed);\n      image.addClosed(index, closed);',
  ),
  one(
    'a redrive does not ask whether the record came back already',
    'core/state/ledger-standing.ts',
    'if (valueIn(LEDGER.putAside) <= valueIn(LEDGER.redriven)) continue;',
    'if (valueIn(LEDGER.putAside) === 0) continue;',
  ),
  one(
    'the mark of a redrive is not committed with it',
    'core/state/fold.ts',
    'enterRedriven(ledgerOf(overlay), record, waiting);',
    '',
  ),
  one(
    'a clock that was set back makes everything unsaved look young',
    'core/elapsed.ts',
    'return Math.abs(nowMs - sinceMs) >= periodMs;',
    'return nowMs - sinceMs >= periodMs;',
  ),
  {
    ...one(
      'a gap that was closed in part is taken for followed',
      'core/task/catch-up.ts',
      '!closesGap && ',
      '',
    ),
    scenario: GAP_IN_PARTS,
  },
  one(
    'a slice that another owner recovers is folded all the same',
    'core/task/slice-task.ts',
    "const isAnothers = head.status === 'RECOVERING' && head.generation !== this.#lease;",
    'const isAnothers = false;',
  ),
  one(
    'a recovered slice opens before it has reached `delivered`',
    'core/checkpoint/publish.ts',
    "const resumes = head.status === 'RECOVERING' && comparePositions(position, head.delivered) >= 0;",
    "const resumes = head.status === 'RECOVERING';",
  ),
  one(
    'what an event source left out is not looked for',
    'core/task/catch-up.ts',
    'if (follows && ageMs <= GAP_CHECK_AGE_MS) return',
    'if (silenceMs > -1e15) return',
  ),
  one(
    'a change of plan does not say from when a new view is whole',
    'core/state/slice-image.ts',
    '{ since: epoch, ordinal: index, columns: columns.map(() => begins) }',
    '{ since: epoch, ordinal: index, columns: columns.map(() => ({ ...begins, coveredFromMs: -Infinity })) }',
  ),
  one(
    'an added aggregate claims to be whole',
    'core/state/slice-image.ts',
    'columns: life.columns.map((column) => column ?? begins)',
    'columns: life.columns.map((column) => column ?? { ...begins, coveredFromMs: -Infinity })',
  ),
  one(
    'an aggregate that was removed and comes back reads what it had before',
    'core/state/column-layout.ts',
    'columnId(own) === columnId(column) && life.columns[index]?.since === column.since',
    'columnId(own) === columnId(column) && life.columns[index] !== null',
  ),
  one(
    'a change of policy throws state away',
    'core/definition/view-match.ts',
    'if (a.hash !== b.hash) return 0;',
    'if (a.hash !== b.hash || a.columns.length !== b.columns.length || a.name !== b.name) return 0;',
  ),
  one(
    'ids that expired before dedupe.within grew are known again',
    'core/state/slice-image.ts',
    'this.dedupeIds.sweep(watermarkMs - before.withinMs);',
    'this.dedupeIds.sweep(watermarkMs - 10 * before.withinMs);',
  ),
  one(
    'what a view put aside as late is lost when the view gets another name',
    'core/state/quarantine-ledger.ts',
    'lives.includes(life) ? life === own.life : name === own.name',
    'name === own.name',
  ),
  one(
    'quarantined records are listed by the next flip only',
    'core/task/slice-memory.ts',
    'const unlisted = checkpoint.quarantined.map((record) => this.identify(record, head));',
    'const unlisted: QuarantinedRecord[] = [];',
  ),
  one(
    'a merge of runs forgets one of them',
    'core/checkpoint/publish.ts',
    'for (const run of merge.absorbed) {\n      const bytes',
    'for (const run of merge.absorbed.slice(1)) {\n      const bytes',
  ),
  {
    name: 'blobs are used without a look at any checksum',
    edits: [
      {
        file: 'core/checkpoint/blobs.ts',
        find: 'bytes.length !== reference.byteLength || crc32c(bytes) !== reference.checksum',
        replace: 'bytes.length !== reference.byteLength',
      },
      {
        file: 'core/checkpoint/envelope.ts',
        find: 'if (stored !== computed) {',
        replace: 'if (stored < 0) {',
      },
    ],
  },
  one(
    'a slice that went back is open at once',
    'core/checkpoint/rewind.ts',
    "'RECOVERING' : head.status",
    "'OPEN' : head.status",
  ),
  one(
    'a redrive does not read the ledger in runs',
    'core/task/redrive.ts',
    'guard.redrive(record, memory.state, stored)',
    'guard.redrive(record, memory.state, [])',
  ),
  one(
    'the state of another plan is taken over whole',
    'core/state/slice-image.ts',
    'if (!listed.has(index)) this.#leaveOut(index, foreign);',
    '',
  ),
  one(
    'a rollback goes on from where the slice is, with the state of then',
    'core/task/slice-memory.ts',
    "if (plan.kind === 'rollback') {",
    'if (plan.kind.length === 0) {',
  ),
];

export function mutantNamed(name: string): Mutant {
  if (name === SOUND.name) return SOUND;
  const mutant = MUTANTS.find((each) => each.name === name);
  if (mutant === undefined) throw new Error(`there is no mutant '${name}'`);
  return mutant;
}
