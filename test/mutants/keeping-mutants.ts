/**
 * Faults of what is kept and for how long, of going back, and of what readers are told.
 */
import {
  GARBLED_BLOCKS,
  ROLLBACK_AFTER_BASES,
  SLOW_READERS,
  VIEW_THAT_BEGINS_AGAIN,
} from '../sim/fixed-scenarios.ts';
import { type Mutant, mutant } from './mutant.ts';

const KEEPS = 'what HEAD must keep is not kept';

export const KEEPING_MUTANTS: readonly Mutant[] = [
  {
    ...mutant(
      'the floor moves without its grace',
      'unexpected problem|unreadable state|MissingBlob|CorruptStateFault|wrong answer',
      'core/checkpoint/retention.ts',
      'if (isNeeded || !hasSurelyPassed(floor.sinceMs, graceMs, nowMs)) {',
      'if (isNeeded || graceMs < 0) {',
    ),
    scenario: SLOW_READERS,
  },
  {
    ...mutant(
      'what a rollback goes on from is not kept',
      `a rollback lost what came since|CorruptStateFault|ReplayGapFault|InvariantFault|${KEEPS}`,
      'core/checkpoint/retention.ts',
      'const isNeeded = previous !== null && floor.epoch > previous.chainSince;',
      'const isNeeded = false;',
    ),
    scenario: ROLLBACK_AFTER_BASES,
  },
  mutant(
    'the stream may be trimmed up to the newest base',
    KEEPS,
    'core/checkpoint/retention.ts',
    'return { collectBelow: floor.epoch, replayFrom: floor.cursor, floor: next };',
    'return { collectBelow: floor.epoch, replayFrom: next.cursor, floor: next };',
  ),
  mutant(
    'absorbed runs go at once',
    KEEPS,
    'core/checkpoint/retention.ts',
    '...replaced.map(({ blob }) => blob)]',
    "...replaced.map(({ blob }) => blob).filter(({ kind }) => kind !== 'run')]",
  ),
  mutant(
    'a pack goes as soon as its parts are written anew',
    KEEPS,
    'core/checkpoint/retention.ts',
    '...replaced.map(({ blob }) => blob)]',
    "...replaced.map(({ blob }) => blob).filter(({ kind }) => kind !== 'base')]",
  ),
  mutant(
    'the pending floor outlives its timeline',
    KEEPS,
    'core/checkpoint/transitions.ts',
    '    floor: { epoch: head.collectBelow, cursor: replayFrom, sinceMs: nowMs },\n',
    '',
  ),
  mutant(
    "late partials stay in an owner's memory beside their run",
    'wrong state',
    'core/task/committer.ts',
    'if (written.manifest.runsEpoch === written.head.epoch) state.image.forgetLate();',
    '',
  ),
  mutant(
    "late partials stay in a reader's image beside their run",
    'wrong answer',
    'core/checkpoint/restore.ts',
    'if (manifest.runsEpoch === applied.epoch) image.forgetLate();',
    '',
  ),
  {
    ...mutant(
      'a run cache gives bad bytes again',
      'sound runs are called damaged',
      'core/checkpoint/run-cache.ts',
      'let bytes = again ? undefined : this.#blocks.get(key);',
      'let bytes = this.#blocks.get(key);',
    ),
    scenario: GARBLED_BLOCKS,
  },
  mutant(
    'a key that spans blocks is read from its second one',
    'wrong answer|wrong state',
    'core/checkpoint/run.ts',
    'if (compareBytes(next.firstKey, from) < 0) low = middle + 1;',
    'if (compareBytes(next.firstKey, from) <= 0) low = middle + 1;',
  ),
  mutant(
    'the last row of a page is the first of the next',
    'wrong answer',
    'core/query/row-sources.ts',
    'Math.max(first, seek(before.key, before.windowStartMs + 1));',
    'Math.max(first, seek(before.key, before.windowStartMs));',
  ),

  mutant(
    "a reader's index keeps the keys that it began with",
    'wrong answer',
    'core/query/row-indexes.ts',
    'if (known?.of === checkpoint) return known.keys;',
    'if (known !== undefined) return known.keys;',
  ),
  mutant(
    'an order shows a group once for each slice that has it',
    'wrong answer',
    'core/query/ordered-rows.ts',
    'if (shared.has(index, ordinal)) continue;',
    '',
  ),
  mutant(
    'windows that begin at `end` are answered too',
    'wrong answer',
    'core/query/row-filter.ts',
    '(endMs === null || windowStartMs < endMs)',
    '(endMs === null || windowStartMs <= endMs)',
  ),
  mutant(
    'a prefix is taken for a whole key',
    'wrong answer',
    'core/query/row-filter.ts',
    'const to = successor(first);',
    'const to = prefix === null ? successor(first) : Uint8Array.of(...first, 0);',
  ),
  mutant(
    'a wanted key is compared as text',
    'wrong answer',
    'core/query/row-filter.ts',
    'if (!wanted.includes(value)) return false;',
    'if (!wanted.some((each) => String(each) >= String(value))) return false;',
  ),
  mutant(
    'windows before `end` count as closed by `end` itself',
    'wrong answer',
    'core/query/completeness.ts',
    'const lastEndMs = windows.endOf(windows.startOf(endMs - 1));',
    'const lastEndMs = endMs;',
  ),
  {
    ...mutant(
      'an answer is complete from `start` on, in the middle of a window',
      'wrong answer',
      'core/query/completeness.ts',
      'return firstStart(startMs, windows) >= fromMs;',
      'return startMs >= fromMs - 20_000;',
    ),
    scenario: VIEW_THAT_BEGINS_AGAIN,
  },
  mutant(
    'an answer that could not read everything is complete',
    'wrong answer',
    'core/query/completeness.ts',
    "...(isDamaged ? ['damaged' as const] : []),",
    '',
  ),
  mutant(
    'no answer is ever complete',
    'an answer is not complete',
    'core/query/completeness.ts',
    "? [] : ['open-windows'];",
    "? ['open-windows'] : ['open-windows'];",
  ),
  mutant(
    'a question without an end is complete',
    'wrong answer',
    'core/query/completeness.ts',
    "if (endMs === null) return ['no-end'];",
    'if (endMs === null) return [];',
  ),
  mutant(
    'a view without windows is complete',
    'wrong answer',
    'core/query/completeness.ts',
    "if (windowSpan(view.window) === null) return ['no-windows'];",
    'if (windowSpan(view.window) === null) return [];',
  ),
  mutant(
    'a record that is not in counts as reached',
    'wrong answer',
    'core/query/view-answer.ts',
    'return compareSequenceNumbers(position.sequenceNumber, sequenceNumber) >= 0;',
    'return compareSequenceNumbers(position.sequenceNumber, sequenceNumber) >= -1e9;',
  ),
  mutant(
    'a slice that waits with all its records holds no window open',
    'wrong answer',
    'core/slice/topology.ts',
    'watermarkMs: isKnown ? lowestWatermark(slices) : null,',
    'watermarkMs: lowestWatermark(slices),',
  ),
  mutant(
    'a shard that no slice stands for holds no window open',
    'wrong answer',
    'core/slice/topology.ts',
    'const unopened = (listed ?? []).filter((shardId) => !known.has(shardId));',
    'const unopened = (listed ?? []).filter((shardId) => known.size === 0 && shardId === "");',
  ),
  mutant(
    'a slice in recovery counts as open',
    'wrong answer',
    'core/slice/topology.ts',
    'isOpen: slices.every(isSettled),',
    'isOpen: true,',
  ),
  mutant(
    'a `next` forgets that a slice was in recovery',
    'wrong answer',
    'core/query/snapshot-token.ts',
    "const isUsual = status === 'OPEN' && !waits;",
    "const isUsual = status !== 'SEALED' && !waits;",
  ),
  mutant(
    'what came back is listed in the quarantine',
    'wrong answer',
    'core/query/waiting-records.ts',
    "if (standing !== 'waits' && standing !== 'unreadable') continue;",
    "if (standing === 'unknown') continue;",
  ),
];
