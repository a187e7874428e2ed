/**
 * `tidemark.lock.json`: what was last allowed to be deployed, committed beside the pipeline file, so that a change which would
 * lose state is seen before it is deployed, and in review.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PipelineJson } from '../core/definition/pipeline-json.ts';

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

/** By stage and name. */
export type LockedPipelines = Readonly<Record<string, LockedPipeline>>;

const VERSION = 2;
/** Version 1 had no stores. */
const VERSIONS_READ: readonly unknown[] = [1, VERSION];
const NOTE =
  'Written by cdk synth, to be committed: what is deployed, so that a change that would lose state is refused.';

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
  const isRead = VERSIONS_READ.includes(lock.version);
  if (isRead && typeof lock.pipelines === 'object' && lock.pipelines !== null) {
    return lock.pipelines as LockedPipelines;
  }
  throw new Error(
    `${path} is version ${JSON.stringify(lock.version) ?? 'none'}, expected ${VERSIONS_READ.join(' or ')}: upgrade Tidemark, or bring the file back from version control`,
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
    const lock: unknown = JSON.parse(text);
    return typeof lock === 'object' && lock !== null ? lock : {};
  } catch (cause) {
    const todo = 'bring it back from version control (after a merge, keep both sides)';
    throw new Error(`${path} is not JSON: ${messageOf(cause)}; ${todo}`, { cause });
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
