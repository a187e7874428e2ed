/**
 * What `tidemark backup` says at its end, with the command that starts from the copy.
 */

import type { BackupReport } from '../runtime/folder-backup.ts';
import { countText } from './count-text.ts';
import { shellPath } from './shell-word.ts';

/** `to` as the user named it. */
export function backupReportText(
  { pipeline, path, folded, tookMs }: BackupReport,
  to: string,
): string {
  return `backed up pipeline ${pipeline} to ${path} in ${tookMs} ms: ${countText(folded, 'record')} in checkpoints, and all that were acknowledged before it began\n  start from it with: npx tidemark dev --data ${shellPath(to)} --pipeline FILE`;
}
