/**
 * An error as a person reads it: message and hint; the stack only of what is unexpected. It may quote data.
 */
import { printableLines } from './printable.ts';

export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return printableLines(String(error));
  const isBug = error instanceof TypeError || error instanceof RangeError;
  const hint = 'hint' in error && typeof error.hint === 'string' ? `\n  ${error.hint}` : '';
  return printableLines(`${isBug ? (error.stack ?? error.message) : error.message}${hint}`);
}
