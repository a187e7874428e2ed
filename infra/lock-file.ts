/**
 * `tidemark.lock.json`: what was last allowed to be deployed, committed beside the pipeline file, so that a change which would
 * lose state is seen before it is deployed, and in review.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PipelineJson } from '../core/definition/pipeline-json.ts';
import { at } from './rendered-resource.ts';

export const LOCK_FILE = 'tidemark.lock.json';

export interface LockedPipeline {
  /** Path of the construct: the logical ids of table and bucket follow from it. */
  readonly construct: string;
  /** What replaces the mapping if it changes. */
  readonly mapping: {
    readonly logicalId: string;
    readonly start: string;
    /** As the template has it. */
    readonly stream: unknown;
  };
  /** What holds the state. A file of version 1 does not say it. */
  readonly stores?: LockedStores;
  /** Of a provisioned stream of the pipeline's own. */
  readonly shardCount?: number;
  /** With every default spelled out. */
  readonly pipeline: PipelineJson;
}

export interface LockedStores {
  readonly table: LockedStore;
  readonly bucket: LockedStore & { readonly keyPrefix: string };
  readonly stream: LockedStore;
  /** Whether those that are the pipeline's own outlive their stack. */
  readonly isKept: boolean;
}

export interface LockedStore {
  /** Where it is of this app. */
  readonly logicalId: string | null;
  /** As the template has it; null where CloudFormation makes one up. */
  readonly name: unknown;
}

/** By stage and name, as the file has them: an entry that is not asked for may be damaged, and is kept as it is. */
export type LockedPipelines = Readonly<Record<string, unknown>>;

const VERSION = 2;
/** Version 1 had no stores. */
const VERSIONS_READ: readonly unknown[] = [1, VERSION];
const NOTE =
  'Written by cdk synth, to be committed: what is deployed, so that a change that would lose state is refused.';
const BRING_BACK = 'bring it back from version control (after a merge, keep both sides)';
/** Some editors begin a file with it. */
const BYTE_ORDER_MARK = '\uFEFF';
const SHOWN_LENGTH_MAX = 60;

interface Part {
  readonly name: string;
  readonly isRight: (entry: unknown) => boolean;
  readonly expected: string;
}

/** What an entry must have so that it can be compared with. `pipeline` is parsed where it is. */
const PARTS: readonly Part[] = [
  { name: '', isRight: isObject, expected: 'an object' },
  {
    name: 'construct',
    isRight: (entry) => isText(at(entry, 'construct')),
    expected: 'a path',
  },
  {
    name: 'mapping',
    isRight: (entry) =>
      ['logicalId', 'start'].every((name) => isText(at(entry, 'mapping', name))) &&
      at(entry, 'mapping', 'stream') !== undefined,
    expected: 'an object with logicalId, start and stream',
  },
  {
    name: 'stores',
    isRight: (entry) => at(entry, 'stores') === undefined || areStores(at(entry, 'stores')),
    expected: 'an object with table, bucket, stream and isKept',
  },
  {
    name: 'shardCount',
    isRight: (entry) => {
      const count = at(entry, 'shardCount');
      return count === undefined || (Number.isInteger(count) && Number(count) > 0);
    },
    expected: 'a number of shards',
  },
  {
    name: 'pipeline',
    isRight: (entry) => isObject(at(entry, 'pipeline')),
    expected: 'a pipeline',
  },
];

export function lockKey(stage: string, name: string): string {
  return `${stage}/${name}`;
}

/** What the lock file of a folder holds; nothing if there is none. */
export function readLock(folder: string): LockedPipelines {
  const path = join(folder, LOCK_FILE);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Error(`${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
  const lock = parse(path, text);
  if (!VERSIONS_READ.includes(lock.version)) {
    throw new Error(
      `${path} is version ${JSON.stringify(lock.version) ?? 'none'}, expected ${VERSIONS_READ.join(' or ')}: upgrade Tidemark, or bring the file back from version control`,
    );
  }
  if (isObject(lock.pipelines)) return lock.pipelines;
  throw new Error(
    `${path}: \`pipelines\` is ${brief(lock.pipelines)}, expected an object by stage and name: ${BRING_BACK}`,
  );
}

/** What is locked of one pipeline; undefined if it is not known. */
export function lockedOf(key: string, locked: LockedPipelines): LockedPipeline | undefined {
  if (!Object.hasOwn(locked, key)) return undefined;
  const entry = locked[key];
  const [wrong] = PARTS.filter(({ isRight }) => !isRight(entry));
  if (wrong === undefined) return entry as LockedPipeline;
  const found = wrong.name === '' ? `"${key}"` : `\`${wrong.name}\` of "${key}"`;
  const value = wrong.name === '' ? entry : at(entry, wrong.name);
  throw new Error(
    `${LOCK_FILE} is damaged: ${found} is ${brief(value)}, expected ${wrong.expected}: ${BRING_BACK}`,
  );
}

/** Writes what one pipeline is now, whole or not at all, and leaves the others as they are. */
export function writeLock(folder: string, key: string, locked: LockedPipeline): void {
  const path = join(folder, LOCK_FILE);
  const merged = Object.entries({ ...readLock(folder), [key]: locked });
  const pipelines = Object.fromEntries(merged.sort(([a], [b]) => (a < b ? -1 : 1)));
  const text = `${JSON.stringify({ note: NOTE, version: VERSION, pipelines }, null, 2)}\n`;
  try {
    if (currentText(path) === text) return;
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  } catch (cause) {
    throw new Error(
      `${path} cannot be written: ${messageOf(cause)}; where synth may not write, commit the file that it writes elsewhere`,
      { cause },
    );
  }
}

function currentText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function parse(
  path: string,
  text: string,
): { readonly version?: unknown; readonly pipelines?: unknown } {
  try {
    const lock: unknown = JSON.parse(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);
    return typeof lock === 'object' && lock !== null ? lock : {};
  } catch (cause) {
    throw new Error(`${path} is not JSON: ${messageOf(cause)}; ${BRING_BACK}`, { cause });
  }
}

function areStores(stores: unknown): boolean {
  return (
    ['table', 'bucket', 'stream'].every((name) => isStore(at(stores, name))) &&
    isText(at(stores, 'bucket', 'keyPrefix')) &&
    typeof at(stores, 'isKept') === 'boolean'
  );
}

function isStore(store: unknown): boolean {
  const id = at(store, 'logicalId');
  return (id === null || isText(id)) && at(store, 'name') !== undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** As much of it as a message can hold. */
function brief(value: unknown): string {
  const text = JSON.stringify(value) ?? 'absent';
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
