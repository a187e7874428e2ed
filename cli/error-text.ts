/**
 * An error as a person reads it: message and hint; the stack only of what is unexpected. It may quote data.
 */
import { printableLines } from './printable.ts';

const NO_FOLDER =
  'the folder that this command runs in no longer exists, and relative paths count from there\n  go to a folder that exists, or give absolute paths: --pipeline FILE, and --data DIR where the command has it';

export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return printableLines(String(error));
  if ('syscall' in error && error.syscall === 'uv_cwd') return NO_FOLDER;
  const isBug = error instanceof TypeError || error instanceof RangeError;
  const hint = 'hint' in error && typeof error.hint === 'string' ? `\n  ${error.hint}` : '';
  return printableLines(`${isBug ? (error.stack ?? error.message) : error.message}${hint}`);
}
