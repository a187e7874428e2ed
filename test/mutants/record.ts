/**
 * What found each mutant last time, and of which sources that is true.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface MutantRecord {
  /** `hashOfSources` then. */
  readonly sources: string;
  /** By mutant, in the order of names. */
  readonly found: Readonly<Record<string, { readonly seed: number; readonly kind: string }>>;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const RECORD = fileURLToPath(new URL('record.json', import.meta.url));
/** What a mutant changes, and what finds it. */
const SOURCES = [
  'core/**/*.ts',
  'simulation/**/*.ts',
  'functions/{aggregate,query}/*.ts',
  'adapters/{memory,local}/**/*.ts',
  'runtime/folder-stores.ts',
  'test/{mutants,world,schedules,local-world}/**/*.ts',
];

export function hashOfSources(): string {
  const hash = createHash('sha256');
  for (const file of globSync(SOURCES, { cwd: ROOT }).sort()) {
    hash.update(`${file}\0${readFileSync(`${ROOT}${file}`, 'utf8')}\0`);
  }
  return hash.digest('hex');
}

export function readRecord(): MutantRecord {
  return JSON.parse(readFileSync(RECORD, 'utf8')) as MutantRecord;
}

export function writeRecord({ sources, found }: MutantRecord): void {
  const sorted = Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(RECORD, `${JSON.stringify({ sources, found: sorted }, null, 2)}\n`);
}
