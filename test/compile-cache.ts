/**
 * Vitest's global setup: the processes of a run, some hundreds, share what Node has compiled.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-compiled-'));
  process.env['NODE_COMPILE_CACHE'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
